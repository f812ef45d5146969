/* How the name of a crashed holder passes on before its TTL is over: suspect marks, proofs and graces.
 *
 * The question: can two sessions trust one name at once, when a name may pass on as soon as nobody has listened on its
 * holder's channel for a grace?
 *
 * One name, and two server processes, 0 and 1, of which one is the primary and the other its replica. Acquire and ask are sent,
 * run and answered, as in handoff.pml. Beside them a session has at most one bare proof under way: a script that sees the
 * session's own subscription and removes its mark, and looks at no lease. Who waits may also be granted by a push, which
 * comes late or never.
 *
 * A mark belongs to a session, not to a name. It says under whose reign it was set: which process (run_id), since which
 * promotion (master_replid). A grace belongs to a session too, and stands in its owner ids; session 0 has 3 ticks, others 2.
 *
 * Left out, so that this stays small:
 *   The TTL. The key never expires, so the trust that counts here is only that of the grace; a lease is trusted while both
 *     last, and handoff.pml is about the other.
 *   The loss of the key in a failover, and a demoted primary that goes on answering. No lock on asynchronous replicas outlives
 *     these, and the docs say so. Key and queue are replicated at once here; marks, and their removal, late.
 *   Drift and margin, but for SLACK: by so many ticks the server's clock may make a grace shorter.
 *   Fresh owner ids: a session acquires again when nothing mentions its last acquisition (R5 is handoff.pml's).
 *
 * Time is countdowns, and ages that stop growing; any number of ticks between any two steps.
 *
 * Faults: crash; a subscription that breaks; answers that are late or lost; a restart of the primary (another run_id, nobody
 * subscribed, all marks kept); a failover (the other process, nobody subscribed, marks as far as they were replicated); a
 * failover back (the old process with its old run_id).
 *
 * Switches. Each undoes one rule of README.md, and stands where that rule does.
 *   R7  M_NORUNID, M_RUNIDONLY          R11  M_ARRIVAL
 *   R8  M_NOPROOF                       R13  M_SETTERKEEPS
 *   R9  M_BAREPROOF, M_BAREWAIT         R14  M_NOSLACK (with SLACK 1)
 *   R10 M_ASKERGRACE                    R19  M_NOSECOND (harmless)
 * LEAN is no mistake: no pushes, and only session 0 sends bare proofs. It makes room for more faults.
 */

#ifndef NS
#define NS 2                     /* sessions: 2 or 3 */
#endif
#ifndef SLACK
#define SLACK 0
#endif
/* how many faults of a kind a run has */
#ifndef B_CRASH
#define B_CRASH 1
#endif
#ifndef B_FAIL
#define B_FAIL 1                 /* failovers */
#endif
#ifndef B_RESTART
#define B_RESTART 1
#endif
#ifndef B_SUB
#define B_SUB 1                  /* subscriptions that break by themselves; a failover and a restart end all of them */
#endif

#define LONGEST  3               /* grace; ages stop here */
#define GRACE(s) ((s)==0 -> 3 : 2)

/* R14, keep the slack back: the holder stops trusting earlier by what two clocks may differ, the server judges by its own. */
#ifdef M_NOSLACK
#define MINE(s)   GRACE(s)
#else
#define MINE(s)   (GRACE(s)-SLACK)
#endif
#define THEIRS(s) (GRACE(s)-SLACK)

/* what a session is doing */
#define IDLE     0
#define ACQ      1               /* has sent an acquire that waits */
#define WAIT     2               /* is in the queue, as far as it knows */
#define ASK      3               /* the same, and has sent a question */
#define UNPROVEN 4               /* was granted, and the script that said so did not see its subscription; it may not trust */
#define HOLD     5
#define DEAD     6

/* what acquire and ask answered; + PROVEN: the script saw the asker's subscription and removed its mark */
#define YOURS    1
#define QUEUED   2
#define NEITHER  3
#define PROVEN   4

/* a bare proof */
#define UNSENT   0
#define SENT     1
#define SEEN     2
#define UNSEEN   3

/* ---- the servers ---- */
byte primary;
byte owner;                      /* the key's value: 0 nobody, else session + 1 */
bit  queued[NS];
bit  listens[NS];                /* as the primary sees it */
/* marks; [2*s+n] is that of session s as process n has it */
bit  mark[2*NS];
byte reign[2*NS];                /* 0 or 1: this process, in its present reign; OVER: an ended process or an earlier reign */
byte age[2*NS];
#define OVER 2

/* ---- the sessions ---- */
byte doing[NS];
byte sent[NS];                   /* what is left of the grace since the acquire or question under way was sent */
byte answer[NS];
byte proven[NS];                 /* countdown: what is left of the trust that proofs gave */
byte proof[NS];                  /* the bare proof under way … */
byte proofsent[NS];              /* … and what is left of the grace since its sending */
bit  push[NS];                   /* a grant on its way to who waits */

byte crashes = B_CRASH, failovers = B_FAIL, restarts = B_RESTART, cuts = B_SUB;

/* Scratch, which is no part of the state. */
hidden byte i, j, k, seen, h;

#define trusting(s) (doing[s]==HOLD && proven[s] > 0)
#define live(s)     (doing[s] != DEAD)
#define HERE(s)     (2*(s)+primary)
#define THERE(s)    (2*(s)+1-primary)

/* ================================================================ what must hold */

inline check() {
  i = 0; j = 0;
  do
  :: i < NS -> if :: trusting(i) -> j++; assert(owner == i+1) :: else fi; i++
  :: else -> break
  od;
  assert(j <= 1); j = 0
}

/* ================================================================ pieces of the scripts */

/* proof -> seen: PROVEN or 0.
 * R13, a proof removes the mark: so every mark was set after the last proof had run, and is not a grace old before the trust
 * that this proof gave has ended. All of the early take-over rests on that. */
inline prove(s) {
  if
  :: listens[s] -> seen = PROVEN;
#ifndef M_SETTERKEEPS
    mark[HERE(s)] = 0; reign[HERE(s)] = 0; age[HERE(s)] = 0
#endif
  :: else -> seen = 0
  fi
}

/* R7, run_id and master_replid void a mark: its removal may not have been replicated, so a promotion would bring it back, and
 * a failover there and back bring it back to a process that has its old run_id. */
#ifdef M_NORUNID
#define valid(s)     mark[HERE(s)]
#define ages(m)      1
#define void_mark(m) reign[m] = OVER
#else
#define valid(s)     (mark[HERE(s)] && reign[HERE(s)] == primary)
#define ages(m)      (reign[m] != OVER)                  /* the age of a void mark no longer matters */
#define void_mark(m) reign[m] = OVER; age[m] = 0
#endif

/* R10, the holder's grace counts: it trusts by its own, and who asks may have a shorter one. */
#ifdef M_ASKERGRACE
#define old(h,s)     (age[HERE(h)] >= THEIRS(s))
#else
#define old(h,s)     (age[HERE(h)] >= THEIRS(h))
#endif

/* R19, look again: an old mark alone would do, but a holder that listens again is spared. Safe without. */
#ifdef M_NOSECOND
#define gone(h,s)    (valid(h) && old(h,s))
#else
#define gone(h,s)    (!listens[h] && valid(h) && old(h,s))
#endif

inline suspect(s) {              /* session s found that another one has the name */
  h = owner-1;
  if
  :: gone(h, s) -> owner = 0
  :: !gone(h, s) && !listens[h] && !valid(h) -> mark[HERE(h)] = 1; reign[HERE(h)] = primary; age[HERE(h)] = 0
  :: else
  fi
}

#ifdef LEAN
#define HEAD(k)   0
#define PROVES(s) (s == 0)
#else
#define HEAD(k)   (queued[k] && listens[k])              /* the lowest session stands for the head of the queue */
#define PROVES(s) 1
#endif

inline hand_to(x) { owner = x+1; queued[x] = 0; push[x] = 1 }

/* ================================================================ the scripts */

inline run_acquire(s) {
  prove(s);
  if :: owner != 0 && owner != s+1 -> suspect(s) :: else fi;
  if
  :: owner == 0 ->                                       /* R3, head first */
    k = 0;
    do
    :: k < NS -> if :: owner == 0 && k != s && HEAD(k) -> hand_to(k) :: else fi; k++
    :: else -> break
    od; k = 0
  :: else
  fi;
  if
  :: owner == 0 || owner == s+1 -> owner = s+1; queued[s] = 0; answer[s] = YOURS + seen
  :: else -> queued[s] = 1; answer[s] = QUEUED + seen
  fi;
  seen = 0; h = 0
}

inline run_ask(s) {                                      /* R4, every ask drives; R2, it never joins */
  prove(s);
  if :: owner != 0 && owner != s+1 && queued[s] -> suspect(s) :: else fi;
  if
  :: owner == 0 ->
    k = 0;
    do
    :: k < NS -> if :: owner == 0 && HEAD(k) -> hand_to(k) :: else fi; k++
    :: else -> break
    od; k = 0
  :: else
  fi;
  if
  :: owner == s+1 -> answer[s] = YOURS + seen
  :: owner != s+1 && queued[s] -> answer[s] = QUEUED + seen
  :: else -> answer[s] = NEITHER + seen
  fi;
  seen = 0; h = 0
}

inline run_release(s) {
  queued[s] = 0;
  if
  :: owner == s+1 -> owner = 0;
    k = 0;
    do
    :: k < NS -> if :: owner == 0 && HEAD(k) -> hand_to(k) :: else fi; k++
    :: else -> break
    od
  :: else
  fi;
  k = 0
}

/* ================================================================ what a session does with it */

inline clear(s) { sent[s] = 0; answer[s] = 0; proven[s] = 0; push[s] = 0; proofsent[s] = 0; proof[s] = UNSENT }

/* R11, trust counts from the sending: here of what proved the subscription. */
#ifdef M_ARRIVAL
#define FROM_ANSWER(s) MINE(s)
#define FROM_PROOF(s)  MINE(s)
#else
#define FROM_ANSWER(s) sent[s]
#define FROM_PROOF(s)  proofsent[s]
#endif

proctype Session(byte s)
{
  do
  /* ---- acquire and ask: sent, run */
  :: atomic { doing[s]==IDLE && owner != s+1 && !queued[s] && !push[s] -> d_step { clear(s); doing[s] = ACQ; sent[s] = MINE(s) } }
  :: atomic { doing[s]==ACQ && answer[s]==0 -> d_step { run_acquire(s); check() } }
  :: atomic { doing[s]==WAIT || doing[s]==UNPROVEN -> d_step { doing[s] = ASK; sent[s] = MINE(s) } }
  :: atomic { doing[s]==ASK && answer[s]==0 -> d_step { run_ask(s); check() } }

  /* ---- answered. R8, trust starts only where one script saw all: the subscription, its mark removed, and the lease. Two
          scripts may each have seen one of them, and never both at one time. */
  :: atomic { (doing[s]==ACQ || doing[s]==ASK) && (answer[s]==YOURS+PROVEN) -> d_step {
    k = FROM_ANSWER(s);
    if :: proven[s] > k -> k = proven[s] :: else fi;     /* an unbroken chain is not shortened */
    if
    :: k > 0 -> clear(s); proven[s] = k; doing[s] = HOLD
    :: else -> proven[s] = 0; answer[s] = 0; sent[s] = 0; doing[s] = UNPROVEN
    fi; k = 0; check() } }
  :: atomic { (doing[s]==ACQ || doing[s]==ASK) && answer[s]==YOURS -> d_step {
#ifdef M_NOPROOF
    k = sent[s]; if :: k > 0 -> clear(s); proven[s] = k; doing[s] = HOLD :: else -> answer[s] = 0; doing[s] = UNPROVEN fi;
#else
    answer[s] = 0; sent[s] = 0; doing[s] = UNPROVEN;
#endif
    k = 0; check() } }
  /* still queued, and proven: this too starts a chain, since the grant will come after it */
  :: atomic { (doing[s]==ACQ || doing[s]==ASK) && answer[s]==QUEUED+PROVEN -> d_step {
    if :: sent[s] > proven[s] -> proven[s] = sent[s] :: else fi; answer[s] = 0; sent[s] = 0; doing[s] = WAIT } }
  :: atomic { (doing[s]==ACQ || doing[s]==ASK) && answer[s]==QUEUED -> d_step { answer[s] = 0; sent[s] = 0; doing[s] = WAIT } }
  :: atomic { doing[s]==ASK && (answer[s]==NEITHER || answer[s]==NEITHER+PROVEN) -> d_step { clear(s); doing[s] = IDLE } }
  /* not answered: it asks again. What has not run yet and may is handoff.pml's */
  :: atomic { (doing[s]==ACQ || doing[s]==ASK) && answer[s]!=0 -> d_step { answer[s] = 0; sent[s] = 0; doing[s] = WAIT } }

  /* ---- pushes. Trusted by the chain of proofs; if that has a gap, it asks first (R8) */
  :: atomic { push[s] && (doing[s]==WAIT || doing[s]==ASK) -> d_step {
    push[s] = 0; answer[s] = 0; sent[s] = 0;
    if
    :: proven[s] > 0 -> doing[s] = HOLD; proof[s] = UNSENT; proofsent[s] = 0
    :: else -> doing[s] = UNPROVEN
    fi; check() } }
  :: atomic { push[s] -> push[s] = 0 }                   /* lost */

  /* ---- bare proofs: sent, run, answered. R9, a bare proof only prolongs: in the gap before it the name may have passed on,
          and it did not look. */
  :: atomic { PROVES(s) && (doing[s]==WAIT || doing[s]==UNPROVEN || doing[s]==HOLD) && proof[s]==UNSENT -> d_step {
    proof[s] = SENT; proofsent[s] = MINE(s) } }
  :: atomic { proof[s]==SENT -> d_step {
    prove(s); if :: seen == PROVEN -> proof[s] = SEEN :: else -> proof[s] = UNSEEN; proofsent[s] = 0 fi; seen = 0 } }
  :: atomic { live(s) && proof[s]==SEEN -> d_step {
    k = FROM_PROOF(s);
    if
#ifdef M_BAREPROOF
    :: (proven[s] > 0 || doing[s]==UNPROVEN) && k > proven[s] -> proven[s] = k;
      if :: doing[s]==UNPROVEN -> doing[s] = HOLD :: else fi
#elif defined(M_BAREWAIT)
    :: (proven[s] > 0 || doing[s]==WAIT) && k > proven[s] -> proven[s] = k
#else
    :: proven[s] > 0 && k > proven[s] -> proven[s] = k
#endif
    :: else
    fi;
    proof[s] = UNSENT; proofsent[s] = 0; k = 0; check() } }
  :: atomic { live(s) && proof[s] != UNSENT -> d_step { proof[s] = UNSENT; proofsent[s] = 0 } }    /* lost, or not seen */

  /* ---- the end: released, given up or lost; the release runs as late as it likes, before the next acquire */
  :: atomic { doing[s]==WAIT || doing[s]==UNPROVEN || doing[s]==HOLD || doing[s]==ASK -> d_step { clear(s); doing[s] = IDLE } }
  :: atomic { doing[s]==IDLE && (owner==s+1 || queued[s]) -> d_step { run_release(s); check() } }

  :: atomic { live(s) && !listens[s] -> listens[s] = 1 }
  od
}

/* ================================================================ time */

#define less(x) if :: x > 0 -> x-- :: else fi

inline tick() {
  k = 0;
  do
  :: k < NS -> less(sent[k]); less(proofsent[k]); less(proven[k]); k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < 2*NS -> if :: mark[k] && ages(k) && age[k] < LONGEST -> age[k]++ :: else fi; k++
  :: else -> break
  od;
  k = 0; check()
}

/* ================================================================ faults */

inline nobody_listens() { k = 0; do :: k < NS -> listens[k] = 0; k++ :: else -> break od; k = 0 }

/* Matters only while a failover may come. */
#define replicate(s) :: atomic { failovers > 0 && \
  (mark[HERE(s)] != mark[THERE(s)] || reign[HERE(s)] != reign[THERE(s)] || age[HERE(s)] != age[THERE(s)]) -> d_step { \
  mark[THERE(s)] = mark[HERE(s)]; reign[THERE(s)] = reign[HERE(s)]; age[THERE(s)] = age[HERE(s)] } }
#define cut(s)       :: atomic { live(s) && listens[s] && cuts > 0 -> cuts--; listens[s] = 0 }
#define crash(s)     :: atomic { live(s) && crashes > 0 -> d_step { crashes--; clear(s); doing[s] = DEAD; listens[s] = 0 } }

active proctype World()
{
  do
  :: atomic { true -> d_step { tick() } }
  replicate(0) replicate(1)
  cut(0) cut(1)
  crash(0) crash(1)
#if NS > 2
  replicate(2) cut(2) crash(2)
#endif
  /* a restart: the marks that this process set are another's now */
  :: atomic { restarts > 0 -> d_step { restarts--; nobody_listens();
    k = 0;
    do :: k < 2*NS -> if :: mark[k] && reign[k] == primary -> void_mark(k) :: else fi; k++ :: else -> break od;
    k = 0 } }
  /* a promotion: a new reign, in which all earlier marks are void (M_RUNIDONLY: but for those of this very process) */
  :: atomic { failovers > 0 -> d_step { failovers--; primary = 1-primary; nobody_listens();
#ifndef M_RUNIDONLY
    k = 0;
    do :: k < 2*NS -> if :: mark[k] -> void_mark(k) :: else fi; k++ :: else -> break od;
#endif
    k = 0;                                               /* what the replica has matters no more after the last failover */
    do
    :: k < NS -> if :: failovers == 0 -> mark[THERE(k)] = 0; reign[THERE(k)] = 0; age[THERE(k)] = 0 :: else fi; k++
    :: else -> break
    od;
    k = 0 } }
  od
}

init {
  atomic {
    k = 0; do :: k < NS -> listens[k] = 1; k++ :: else -> break od; k = 0;
    run Session(0); run Session(1);
#if NS > 2
    run Session(2)
#endif
  }
}
