package servers

// UntilGone is for the test of what outlives a test process.
var UntilGone = untilGone
