package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenurelock/tenure"
	"github.com/tenurelock/tenure/pglock"
)

// A read, a decision and a write under one lock. If the program stalls for five seconds in between, the server rolls the
// transaction back.
func ExampleLockTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, pglock.SharedServer.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "create table account (id int primary key, balance int); insert into account values (7, 100)"); err != nil {
		log.Fatal(err)
	}

	withdraw := func(amount int) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if err := pglock.LockTx(ctx, tx, "account/7", pglock.TxTimeout(5*time.Second)); err != nil {
				return err
			}
			var balance int
			if err := tx.QueryRow(ctx, "select balance from account where id = 7").Scan(&balance); err != nil {
				return err
			}
			if balance < amount {
				return fmt.Errorf("%d is more than %d", amount, balance)
			}
			_, err := tx.Exec(ctx, "update account set balance = $1 where id = 7", balance-amount)
			return err
		})
	}
	fmt.Println(withdraw(60))
	fmt.Println(withdraw(60))
	// Output:
	// <nil>
	// 60 is more than 40
}

// Skip what somebody else is doing.
func ExampleTryLockTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, pglock.SharedServer.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	job := func(do func()) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			err := pglock.TryLockTx(ctx, tx, "report/daily")
			if errors.Is(err, tenure.ErrHeld) {
				fmt.Println("somebody is at it")
				return nil
			}
			if err != nil {
				return err
			}
			do()
			return nil
		})
	}
	err = job(func() {
		fmt.Println("at it")
		if err := job(func() { fmt.Println("a second one, too") }); err != nil {
			log.Fatal(err)
		}
	})
	fmt.Println(err)
	// Output:
	// at it
	// somebody is at it
	// <nil>
}

// Share a lock with code that calls pg_advisory_xact_lock(1001, 42).
func ExampleKey() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, pglock.SharedServer.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return pglock.LockTx(ctx, tx, pglock.Key(1001, 42)) })
	fmt.Println(pglock.Key(1001, 42), err)
	// Output: pgkey:1001,42 <nil>
}
