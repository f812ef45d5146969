package mutant

// Flaw is one mistake, in a few words.
type Flaw string

// None is no mistake.
const None Flaw = ""

// Mistake is a flaw with the rule that must catch it and where it comes from.
type Mistake struct {
	Flaw   Flaw
	Rule   string // of package locktest
	Source string // a hazard's number, or who made it
	Plain  bool   // in a plain store
}

// The mistakes.
const (
	StandbyGrants          Flaw = "every node grants by itself"
	KeyByName              Flaw = "exclusion goes by the name, although names share keys"
	ChecksThenSets         Flaw = "looking whether it is free and taking it are two steps"
	TryWaits               Flaw = "a try waits"
	ForgetsLocal           Flaw = "the queue inside the process is made anew for every Locker"
	NamesFolded            Flaw = "names are compared without case and trailing blanks"
	Evicts                 Flaw = "the oldest name goes when there are many"
	NumberInNanoseconds    Flaw = "the number is in nanoseconds"
	NumberIsClock          Flaw = "the number is the clock alone"
	NumberPassedOn         Flaw = "a waiter is given the number of the holder before it"
	ExpiredNumber          Flaw = "the counter goes when the grant runs out"
	CounterReset           Flaw = "the counter starts anew when nobody is connected"
	NumberRolledBack       Flaw = "a clean-up gives the number back"
	HostIsSession          Flaw = "the session's id is the host's name"
	OwnerByPrefix          Flaw = "owners are compared by prefix"
	AcqIsOwner             Flaw = "the owner is the acquisition's number alone"
	ReleaseOfNothing       Flaw = "releasing what was never held says nil"
	ReleaseTwice           Flaw = "releasing twice says nil"
	ReleaseAnybody         Flaw = "a late release frees whoever holds it"
	AbandonsAnybody        Flaw = "a late clean-up frees whoever holds it"
	RenewsNothing          Flaw = "a renewal is confirmed without being done"
	RenewRecreates         Flaw = "a renewal puts back what was released"
	RenewCreates           Flaw = "a renewal takes what is free"
	RenewAfterGap          Flaw = "a renewal revives what another one has held since"
	BatchAnsweredOnce      Flaw = "the first answer of a batch is given to all"
	RenewIgnoresContext    Flaw = "a renewal goes on although its context is over"
	ValidRoundedUp         Flaw = "the time a proof is valid is rounded up"
	ProofByServerClock     Flaw = "a proof is counted on the server's clock, which is ahead"
	ProofAtAnswer          Flaw = "a proof is counted from the answer"
	RenewalProofStale      Flaw = "a renewal proves no more than the one before"
	ProofOfArrival         Flaw = "a waiter's proof is counted from the arrival of the grant"
	ProofOfWaiting         Flaw = "a waiter's proof is counted from when it began to wait"
	NeverExpires           Flaw = "nothing runs out"
	ExpiresEarly           Flaw = "the store halves the TTL"
	NobodyDrives           Flaw = "nobody looks whether the holder's time is up while all wait"
	BreaksStale            Flaw = "what looks stale is broken"
	LostWakeUp             Flaw = "a waiter is not woken"
	QueuedSilent           Flaw = "Queued is not called"
	QueuedUnnamed          Flaw = "Queued does not say behind whom"
	LastInFirstOut         Flaw = "last in, first out"
	Barging                Flaw = "who tries passes those who wait"
	AllWoken               Flaw = "all waiters are granted at once"
	WaitsOnFree            Flaw = "a waiter on a free name waits for a release"
	CancelsLate            Flaw = "a cancelled waiter stays for seconds"
	Ghost                  Flaw = "a waiter that gave up stays in the queue"
	CutsQueue              Flaw = "leaving cuts off those behind"
	GrantKept              Flaw = "a grant beside the cancelling is kept and not said"
	CancelledTakes         Flaw = "a call that was cancelled before takes the name"
	OneReaderASession      Flaw = "one reader a session"
	ReaderBesideWriter     Flaw = "a reader is let in beside a writer"
	ReadersAsFlag          Flaw = "readers are a flag and not a count"
	WriterStarves          Flaw = "readers pass a waiting writer"
	DoorLeftClosed         Flaw = "a writer that gave up leaves the door closed"
	ReadersOneByOne        Flaw = "readers are woken one by one"
	ReaderUnnumbered       Flaw = "readers draw no number"
	AnyReader              Flaw = "a reader's release frees another reader"
	SlotTwice              Flaw = "a slot is granted once a session"
	SlotUnsaid             Flaw = "the grant does not say which slot"
	SlotFirstOnly          Flaw = "a waiter waits for the first slot only"
	SlotNumbersForgotten   Flaw = "a slot's counter goes with its last holder"
	AbandonsGroupOnly      Flaw = "a clean-up looks under the group's name only"
	SlotGhost              Flaw = "a waiter for slots that gave up stays in the queue"
	OnceForgotten          Flaw = "the release forgets when it last ran"
	OnceSlides             Flaw = "the period is counted from the last run"
	OrdinaryRemembered     Flaw = "every grant is remembered"
	GapEndsAtRelease       Flaw = "the gap ends with the release"
	OnceUncheckedForWaiter Flaw = "a waiter's period is not looked at again"
	HolderUndescribed      Flaw = "the holder is not described"
	RefusalUnnamed         Flaw = "a refusal does not say who holds it"
	InspectStale           Flaw = "the last holder is shown when it has gone"
	InspectRenews          Flaw = "looking keeps it alive"
	AbandonsWaitersOnly    Flaw = "a clean-up leaves the queue but not the lock"
	AbandonsKnownOnly      Flaw = "a clean-up of nothing is an error"
	AbandonsHoldersOnly    Flaw = "a clean-up does not leave the queue"
	BatchEndsEarly         Flaw = "a batch of clean-ups ends at the first that is unknown"
	CloseLeaves            Flaw = "closing leaves what is held"
	CloseForgetsWaiters    Flaw = "closing leaves the waiters waiting"
	CloseSilent            Flaw = "closing does not tell the holders"
	ClosePassesOnFirst     Flaw = "closing passes the names on, then tells the holders"
	ClosedGrants           Flaw = "a closed session goes on"
	SaysNothing            Flaw = "a cell of the guarantees is empty"
	ReleaseDeferred        Flaw = "a release is confirmed before it is done"
	KeyOfSession           Flaw = "keys differ from process to process"
	AbandonsOnce           Flaw = "a clean-up that was answered is not sent again"
	UnsupportedGrants      Flaw = "what is not supported is granted exclusively"
)

// Mistakes are all flaws, each with the rule that catches it.
var Mistakes = []Mistake{
	{Flaw: StandbyGrants, Rule: "exclusion/sessions", Source: "H33: a hot standby granted the lock too"},
	{Flaw: KeyByName, Rule: "exclusion/twins", Source: "H43: keys are hashes, and they collide"},
	{Flaw: ChecksThenSets, Rule: "exclusion/race", Source: "H57: equal keys executed twice at once"},
	{Flaw: TryWaits, Rule: "exclusion/try", Source: "H14, H19: a bound of 200 ms took 5 s"},
	{Flaw: NamesFolded, Rule: "names/any", Source: "the default collations of MySQL, under ShedLock and django-db-lock"},
	{Flaw: Evicts, Rule: "names/many", Source: "H46: eviction took the lock's key"},
	{Flaw: NumberInNanoseconds, Rule: "numbers/range", Source: "H20: one unit taken for another"},
	{Flaw: NumberIsClock, Rule: "numbers/release", Source: "tokens from the clock without a counter beside it repeat"},
	{Flaw: NumberPassedOn, Rule: "numbers/waiters", Source: "H42: a number handed out twice"},
	{Flaw: ExpiredNumber, Rule: "numbers/expiry", Source: "H46: the counter went with the key"},
	{Flaw: CounterReset, Rule: "numbers/reopen", Source: "H47: the counter was back to 1"},
	{Flaw: NumberRolledBack, Rule: "numbers/abandon", Source: "max(number)+1 over the rows that are left"},
	{Flaw: HostIsSession, Rule: "owners/info", Source: "H11: shared host name as identity"},
	{Flaw: SaysNothing, Rule: "owners/guarantees", Source: "a table of guarantees with a hole, which readers fill with hope"},
	{Flaw: OwnerByPrefix, Rule: "owners/acq", Source: "H15: worker-1 stole from worker-12"},
	{Flaw: AcqIsOwner, Rule: "owners/session", Source: "H11: an identity that is not the process's own"},
	{Flaw: ReleaseOfNothing, Rule: "owners/never", Source: "H18: unlock of a lock never held returned nil"},
	{Flaw: ReleaseTwice, Rule: "owners/twice", Source: "H25: the unlock's false was ignored"},
	{Flaw: ReleaseAnybody, Rule: "owners/late", Source: "H16: a late unlock deleted the newer owner's lock"},
	{Flaw: AbandonsAnybody, Rule: "owners/late-abandon", Source: "H16, in a clean-up by name"},
	{Flaw: RenewsNothing, Rule: "renew/extends", Source: "H6: renewal stopped silently"},
	{Flaw: RenewRecreates, Rule: "renew/released", Source: "H4: a renewal in flight re-inserted a released row"},
	{Flaw: RenewCreates, Rule: "renew/never", Source: "H8: SetNXOnExtend"},
	{Flaw: RenewAfterGap, Rule: "renew/expired", Source: "H8: extend succeeded after another client had held and released"},
	{Flaw: BatchAnsweredOnce, Rule: "renew/batch", Source: "one error for a whole pipeline"},
	{Flaw: RenewIgnoresContext, Rule: "renew/context", Source: "H14: 5.0 s, whatever the context says"},
	{Flaw: ValidRoundedUp, Rule: "proof/call", Source: "H20: rounded to a larger unit"},
	{Flaw: ProofAtAnswer, Rule: "proof/sent", Source: "H2: trust counted from the answer"},
	{Flaw: RenewalProofStale, Rule: "proof/renewed", Source: "H1: the deadline of a renewal that proved nothing new"},
	{Flaw: ProofOfArrival, Rule: "proof/waiter", Source: "H2: a grant that had slept in the socket"},
	{Flaw: ProofOfWaiting, Rule: "proof/fresh", Source: "H3, H23: returned as held after its end"},
	{Flaw: NeverExpires, Rule: "expiry/late", Source: "H52: keys without TTL stuck for ever"},
	{Flaw: ExpiresEarly, Rule: "expiry/early", Source: "H20, H71: the server's time is shorter than ours"},
	{Flaw: NobodyDrives, Rule: "expiry/waiter", Source: "H79: live waiters stranded behind a dead holder"},
	{Flaw: BreaksStale, Rule: "expiry/kept", Source: "lock files that are broken when they look old (procmail's lockfile, npm's proper-lockfile)", Plain: true},
	{Flaw: LostWakeUp, Rule: "wait/release", Source: "H21: a missed wake-up"},
	{Flaw: QueuedSilent, Rule: "wait/queued", Source: "a user sees a program that hangs"},
	{Flaw: QueuedUnnamed, Rule: "wait/queued", Source: "terraform: who holds the state lock?"},
	{Flaw: LastInFirstOut, Rule: "wait/order", Source: "starved workers: 0 leases for one, 310 for another"},
	{Flaw: Barging, Rule: "wait/barging", Source: "golang.org/x/sync/semaphore: why a queue must not barge"},
	{Flaw: AllWoken, Rule: "wait/one", Source: "H68: every waiter was granted at once"},
	{Flaw: WaitsOnFree, Rule: "wait/free", Source: "H21: a waiter hanging on a free lock"},
	{Flaw: CancelsLate, Rule: "cancel/prompt", Source: "H14: returned after 5.0 s"},
	{Flaw: Ghost, Rule: "cancel/ghost", Source: "H24: a failed acquire left a candidate key behind"},
	{Flaw: CutsQueue, Rule: "cancel/middle", Source: "H79: waiters stranded behind one that has gone"},
	{Flaw: GrantKept, Rule: "cancel/race", Source: "H32: timeout reported although the lock was granted"},
	{Flaw: CancelledTakes, Rule: "cancel/before", Source: "H12: an orphan for the rest of the TTL"},
	{Flaw: OneReaderASession, Rule: "shared/beside", Source: "one row a session and name"},
	{Flaw: ReaderBesideWriter, Rule: "shared/excludes", Source: "a PostgreSQL session is granted shared beside its exclusive"},
	{Flaw: ReadersAsFlag, Rule: "shared/last", Source: "a reader's release clears the mode"},
	{Flaw: WriterStarves, Rule: "shared/starved", Source: "flock(2) prefers readers for as long as they overlap"},
	{Flaw: DoorLeftClosed, Rule: "shared/gave-up", Source: "H24: a failed path that cleans up the rest"},
	{Flaw: ReadersOneByOne, Rule: "shared/together", Source: "H21: one wake-up for several who could go"},
	{Flaw: ReaderUnnumbered, Rule: "shared/numbers", Source: "H42: a number handed out twice"},
	{Flaw: AnyReader, Rule: "shared/release", Source: "H16: any reader of this session will do"},
	{Flaw: SlotTwice, Rule: "slots/count", Source: "H38: a claim that another one had"},
	{Flaw: SlotUnsaid, Rule: "slots/index", Source: "a semaphore that only counts"},
	{Flaw: SlotFirstOnly, Rule: "slots/any", Source: "H21: the wake-up came elsewhere"},
	{Flaw: SlotNumbersForgotten, Rule: "slots/numbers", Source: "H46: the counter went with the key"},
	{Flaw: AbandonsGroupOnly, Rule: "slots/abandon", Source: "H12, for one of several names"},
	{Flaw: SlotGhost, Rule: "slots/gave-up", Source: "H24: a candidate left behind"},
	{Flaw: OnceForgotten, Rule: "once/period", Source: "H61: short jobs run twice"},
	{Flaw: OnceSlides, Rule: "once/next", Source: "a daily job that drifts until it skips a day"},
	{Flaw: OrdinaryRemembered, Rule: "once/ordinary", Source: "a manual run kept the nightly one from running"},
	{Flaw: OnceUncheckedForWaiter, Rule: "once/waiter", Source: "H61: the second host ran it right after the first"},
	{Flaw: GapEndsAtRelease, Rule: "gap/kept", Source: "H61: ShedLock without lockAtLeastFor"},
	{Flaw: HolderUndescribed, Rule: "inspect/holder", Source: "an owner id and nothing else"},
	{Flaw: RefusalUnnamed, Rule: "inspect/refusal", Source: "\"resource temporarily unavailable\""},
	{Flaw: InspectStale, Rule: "inspect/free", Source: "a pid file is not removed"},
	{Flaw: InspectRenews, Rule: "inspect/only", Source: "a status page that touches the session"},
	{Flaw: AbandonsWaitersOnly, Rule: "abandon/frees", Source: "H12: an orphan for the rest of the TTL"},
	{Flaw: AbandonsKnownOnly, Rule: "abandon/again", Source: "H67: the clean-up that came first failed"},
	{Flaw: AbandonsHoldersOnly, Rule: "abandon/waiter", Source: "H24: left in the queue"},
	{Flaw: BatchEndsEarly, Rule: "abandon/batch", Source: "a loop that returns at its first error"},
	{Flaw: CloseLeaves, Rule: "close/frees", Source: "H26: closing a pooled connection left its lock held"},
	{Flaw: CloseForgetsWaiters, Rule: "close/waiters", Source: "H21: hanging for ever"},
	{Flaw: CloseSilent, Rule: "close/holders", Source: "H6: ended silently"},
	{Flaw: ClosePassesOnFirst, Rule: "close/first", Source: "H2: the loss signal came after the successor's grant"},
	{Flaw: ClosedGrants, Rule: "close/later", Source: "a pool that opens a new connection by itself"},
	{Flaw: UnsupportedGrants, Rule: "unsupported/refused", Source: "an option that is ignored", Plain: true},

	// The root package trusts its driver: these are the same mistakes seen from above.
	{Flaw: ForgetsLocal, Rule: "locker/process", Source: "H27: the same session acquired twice"},
	{Flaw: RefusalUnnamed, Rule: "locker/held", Source: "\"resource temporarily unavailable\""},
	{Flaw: ExpiresEarly, Rule: "locker/lost", Source: "H1: a context that outlived the lock by 2.0 s"},
	{Flaw: RenewsNothing, Rule: "locker/renewed", Source: "H6: renewal stopped silently"},
	{Flaw: ReleaseDeferred, Rule: "locker/do", Source: "H50: deleted by one node, on its way to the others"},
	{Flaw: OnceForgotten, Rule: "locker/once", Source: "H61: short jobs run twice"},
	{Flaw: NumberPassedOn, Rule: "locker/tokens", Source: "H42: a number handed out twice"},
	{Flaw: ReaderBesideWriter, Rule: "locker/shared", Source: "a PostgreSQL session is granted shared beside its exclusive"},
	{Flaw: SlotTwice, Rule: "locker/slots", Source: "H38: a claim that another one had"},
	{Flaw: Ghost, Rule: "locker/gave-up", Source: "H24: a failed acquire left a candidate key behind"},
	{Flaw: KeyOfSession, Rule: "locker/all", Source: "H43: a build-dependent hash"},
	{Flaw: Barging, Rule: "locker/fair", Source: "polling clients: 0 leases for one worker, 310 for another"},
	{Flaw: CancelsLate, Rule: "locker/close", Source: "H14: returned after 5.0 s"},
	{Flaw: ChecksThenSets, Rule: "locker/hammer", Source: "H57: equal keys executed twice at once"},
	{Flaw: AbandonsWaitersOnly, Rule: "fault/lost", Source: "H12: an orphan for the rest of the TTL"},
	{Flaw: AbandonsOnce, Rule: "fault/overtaken", Source: "H67: an acquire executed after its clean-up"},
	{Flaw: AbandonsOnce, Rule: "abandon/late", Source: "H67: an acquire executed after its clean-up"},
	{Flaw: ProofByServerClock, Rule: "fault/slept", Source: "H3: acquired with an answer that arrived after the TTL"},
}
