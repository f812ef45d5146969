package sqltx_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver called pgx

	"github.com/tenurelock/tenure/internal/servers"
	"github.com/tenurelock/tenure/pglock/internal/pgtest"
	"github.com/tenurelock/tenure/pglock/sqltx"
)

// The rules are tested in internal/txlock, together with those of pglock.

var server *servers.Postgres

func TestMain(m *testing.M) { os.Exit(pgtest.Main(&server, servers.PostgresOptions{}, m.Run)) }

func Example() {
	ctx := context.Background()
	db, err := sql.Open("pgx", server.URL(""))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("create table account (id int primary key, balance int); insert into account values (7, 100)"); err != nil {
		log.Fatal(err)
	}

	withdraw := func(amount int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after Commit
		if err := sqltx.Lock(ctx, tx, "account/7", sqltx.TxTimeout(5*time.Second)); err != nil {
			return err
		}
		var balance int
		if err := tx.QueryRow("select balance from account where id = 7").Scan(&balance); err != nil {
			return err
		}
		if balance < amount {
			return fmt.Errorf("%d is more than %d", amount, balance)
		}
		if _, err := tx.Exec("update account set balance = $1 where id = 7", balance-amount); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println(withdraw(60))
	fmt.Println(withdraw(60))
	// Output:
	// <nil>
	// 60 is more than 40
}
