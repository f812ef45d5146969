package proof_test

import (
	"fmt"
	"strings"

	"github.com/tenurelock/tenure/proof"
)

// The successor trusts before the first holder has ceased to.
func ExampleCheckOverlap() {
	history, err := proof.Parse(strings.NewReader(`
		0   10  a.1 acquire stock exclusive = ok 256 until 500
		400 499 b.1 acquire stock exclusive = ok 512 until 900
	`))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(proof.CheckOverlap(history))
	// Output:
	// two leases were trusted at once, from 499 to 500:
	// 	"stock" token 256, exclusive, of a: [10, 500)
	// 	"stock" token 512, exclusive, of b: [499, 900)
}
