// Package redislock is locks, leases and fencing tokens over Redis 6.2 or newer, and Valkey.
package redislock
