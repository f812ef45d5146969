// Package script has the Lua scripts that decide, on the server, who has a lock. Each is one round trip and one atomic step; the
// rules that they keep are checked by the models in proof/models.
//
// The scripts are in files of their own, in lua/. What most of them share is in common.lua, where their keys are described.
package script

import (
	_ "embed"

	"github.com/redis/rueidis"
)

//go:embed lua/common.lua
var common string

//go:embed lua/acquire.lua
var acquire string

//go:embed lua/acquire_free.lua
var acquireFree string

//go:embed lua/ask.lua
var ask string

//go:embed lua/release.lua
var release string

//go:embed lua/release_free.lua
var releaseFree string

//go:embed lua/renew.lua
var renew string

//go:embed lua/renew_shared.lua
var renewShared string

//go:embed lua/prove.lua
var prove string

//go:embed lua/inspect.lua
var inspect string

// The scripts. Each is sent by its hash, and whole where the server does not know it (after a restart, a failover).
var (
	Acquire     = rueidis.NewLuaScript(acquireFree + common + acquire)
	Ask         = rueidis.NewLuaScript(common + ask)
	Release     = rueidis.NewLuaScript(releaseFree + common + release)
	Renew       = rueidis.NewLuaScript(renew)
	RenewShared = rueidis.NewLuaScript(common + renewShared)
	Prove       = rueidis.NewLuaScript(prove)
	Inspect     = rueidis.NewLuaScript(common + inspect)
)
