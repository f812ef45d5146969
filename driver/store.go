package driver

import "context"

// Store is one session of this process with one store: its connections, its id, its grants. All its methods may be
// called from many goroutines at once; a driver sends what arrives together in one message where it can.
//
// An error of Acquire and Release is a [*HeldError], a [*DoneError] (Acquire only), a [*Fault], or an error that wraps
// one of them. Any other error counts as a passing fault with an unknown effect, which is safe and slow.
type Store interface {
	// Info says what this store is and promises, as far as the driver saw of the real server. It does not change.
	Info() Info

	// Key gives the store's own key of a name. Two names with one key exclude each other, so exclusion inside the
	// process, and the order of AcquireAll, go by the key. The error says why no such name can be. It asks no server.
	Key(name string) (string, error)

	// Acquire asks for one grant under the owner id (session, req.Acq), which it sends once and never again. The caller asks
	// for no key that this session has already, or asks for, other than shared beside shared; except behind an Abandon that
	// failed, so that a driver counts its grants by owner.
	//
	// Without req.Wait it answers at once: a grant, or a *HeldError. With it, the call joins the store's queue and
	// returns when it is granted; a driver that cannot queue (now, or ever) answers with a *HeldError instead, whose
	// RetryAfter says when to ask again. req.Watch.Queued is called once the store has said that the request waits.
	//
	// It returns soon after ctx ends. Where the request may still be granted it then answers Unknown, and the caller
	// runs Abandon for this Acq. It may return a grant although ctx is over: the caller takes it or gives it back.
	// A grant whose trust was over before it arrived is returned all the same; the caller gives it back.
	//
	// From the grant on (so perhaps before Acquire has returned it), and until Release or Abandon of it has been answered,
	// the driver calls req.Watch.Lost when it learns that the grant is gone.
	Acquire(ctx context.Context, req *Request) (Grant, error)

	// Renew proves grants, in as few messages as it can, and fills in Proof or Err of each: nil and a newer Proof,
	// ErrNotOurs where the store says that this owner does not have the name, or a passing fault, which proves nothing.
	// It fills them all in before it returns, which is soon after ctx ends: what is known by then counts, though others in
	// the batch hang. It neither creates nor takes back a grant. It may run beside Release or Abandon of the same owner, and
	// has no effect after them: where it could have one, the driver ends it first.
	Renew(ctx context.Context, batch []Renewal)

	// Release gives one grant back, and passes the name on to the store's next waiter. nil: it was this owner's until
	// now. ErrNotOurs: it was not. After another error it is unknown, and the caller goes on with Abandon.
	Release(ctx context.Context, ref Ref) error

	// Abandon makes sure that owners have nothing: out of the queue, and if granted, passed on as by Release. It fills
	// in Err of each; nil means that the store has answered, whether or not there was anything to undo. It may be
	// called again and again, also for an Acq of which the store never heard.
	Abandon(ctx context.Context, batch []Removal)

	// Inspect tells who holds a name and who waits for it, as far as the store knows. It changes nothing.
	Inspect(ctx context.Context, name string) (Report, error)

	// Attached is where the root package keeps what all Lockers over this Store share. Embed [Local].
	Attached() *Local

	// Close ends the session. Watch.Lost is called for what it still holds, which is then freed as when the process ends.
	// Later calls answer with a lasting fault that wraps ErrClosed. A second Close does nothing.
	Close(ctx context.Context) error
}

// Descriptors is implemented by stores whose grants end when the process's descriptors close: a lock file, the socket of
// a session. A guardian process that holds duplicates keeps the store from passing the name on before the guarded work
// has ended, and can end the grant itself when this process is only stopped.
type Descriptors interface {
	// Descriptors duplicates every descriptor on which a grant depends, without changing the mode of the live ones.
	// The error is ErrNotOurs when the grant is gone.
	Descriptors(ref Ref) (DescriptorSet, error)
}

// DescriptorSet is a set of duplicated descriptors. They are close-on-exec, and the caller closes them.
type DescriptorSet struct {
	FDs []int
	// Changed is closed when the grant has come to depend on others, as after a reconnect: ask again. Nil: never.
	Changed <-chan struct{}
}
