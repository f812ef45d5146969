/* The queue and the hand-off of one name on one Redis server.
 *
 * The questions: can two sessions trust at once? can a lease have a number that is not above the last one's? can a name
 * stay with an owner whom nobody knows any more? is everybody who waits served, and is nobody overtaken?
 *
 * A script is one step, since Redis runs it whole. A request is three: it is sent, it runs, it is answered, and anything may
 * happen in between. A push (the news of a grant, published to who waits) may come late or never. An acquire whose sender
 * has stopped listening for the answer stays in the network as a ghost, and runs up to a TTL after its sending, or never.
 *
 * Owner ids. An owner is a session with the number of an acquisition. Real numbers never end; here a session s has two
 * owners, 2*s and 2*s+1, and takes up one again only when nothing in the world mentions it any more. So "owner" is below
 * always such a number, and where 0 must mean nobody it is kept plus one.
 *
 * Time. Every clock value is a countdown in ticks, so that endless time has finitely many states. What is left of "sent +
 * TTL" is a countdown that was set to TTL at the sending; to trust is to have some of it left. The server starts its own
 * countdown, the expiry of the key, when a script runs. Drift and margin are not here: they shorten trust by arithmetic.
 *
 *   free time   (default) Any number of ticks between any two steps: every delay, every stall. For trust and numbers.
 *   -DTIMED     A tick waits until nobody has anything urgent to do, unless a fault is spent on it. One tick is the interval
 *               of questions and of clean-ups. No renewals. For names that get stuck, and with -DLTL for who is served.
 *
 * Switches. Each undoes one rule of README.md, and stands where that rule does.
 *   R1  M_PUBFIRST                      R6   M_CLEANBEFORE, M_CLEANONCE, M_NOCLEAN_NEITHER
 *   R2  M_REJOIN_SCRIPT                 R11  M_ARRIVAL
 *   R3  M_BARGE                         R12  M_ASKTRUST
 *   R4  M_ASKPASSIVE                    R15  M_OLDNUMBER
 *   R5  M_REJOIN_SAMEID, M_ANYPUSH      R16  M_RENEWANY with M_REVIVE (harmless one by one)
 *   R17 M_NOSKIP (harmless)             R18  M_LEAVEKEEPS
 * NONUM is no mistake: numbers are not judged, which shows whether trust overlaps too.
 */

#ifndef NS
#define NS 3                     /* sessions: 2 or 3 */
#endif
#define NE (2*NS)                /* owners */
#ifdef TIMED
#define TTL_DEFAULT 3
#define FRESH 2                  /* who last asked so long ago is passed over */
#else
#define TTL_DEFAULT 2
#define FRESH 1
#endif
#ifndef TTL
#define TTL TTL_DEFAULT
#endif
#define OLD 1                    /* the age of a grant's number: 0 for the newest, OLD for all others */

/* How many faults of a kind a run has. One more is about ten times the states, so never all at once. */
#ifndef B_LOSS
#define B_LOSS 1                 /* answers and clean-ups that are lost; pushes too if TIMED (else they are lost at will) */
#endif
#ifndef B_CRASH
#define B_CRASH 1
#endif
#ifndef B_SUB
#define B_SUB 1                  /* subscriptions that break */
#endif
#ifndef B_STALL
#define B_STALL 1                /* TIMED: sessions that stand still; else everybody does at will */
#endif
#ifndef B_SLOW
#define B_SLOW 0                 /* TIMED: ticks that do not wait for what is urgent */
#endif

/* what a session is doing */
#define IDLE  0
#define ACQ   1                  /* has sent an acquire that waits, and has no answer */
#define WAIT  2                  /* is in the queue, as far as it knows */
#define ASK   3                  /* the same, and has sent a question */
#define HOLD  4                  /* has a lease, and trusts it while trust > 0 */
#define REN   5                  /* the same, and has sent a renewal */
#define RETRY 6                  /* is to acquire again, as another owner */
#define DEAD  7

/* what a script answered; 0 if it has not run yet */
#define YOURS   1
#define QUEUED  2
#define NEITHER 3

/* ---- the server ---- */
byte owner;                      /* the key's value: 0 nobody, else the owner + 1 */
byte expiry;                     /* the key's */
byte queue[NE];                  /* owners + 1, who came first in front */
byte waiting;                    /* how many they are */
byte fresh[NE];                  /* until its last question is too old */
bit  listens[NS];                /* does the session's channel have a subscriber? */

/* ---- the network ---- */
byte push[NE];                   /* on its way to this owner: 0 nothing, else 1 + the age of the grant's number */
bit  ghost[NE];                  /* this owner's acquire has not run, and nobody waits for its answer */

/* ---- the sessions ---- */
byte doing[NS];
bit  which[NS];                  /* of its two owners, the one that it acts as */
byte sent[NS];                   /* countdown since the request under way was sent */
byte answer[NS];
byte number[NS];                 /* the age of the grant's number in that answer */
byte waited[NS];                 /* countdown since the sending of the last question that was answered "still queued" */
byte trust[NS];
bit  asked[NS];                  /* TIMED: has asked, or acquired, in this tick */
bit  stalled[NS];
bit  owes[NE];                   /* this owner was given up, and is to be cleaned up */
bit  cleaned[NE];                /* TIMED: a clean-up of it was sent in this tick */
bit  unanswered[NE];             /* its acquire never got an answer … */
byte late[NE];                   /* … and may still run for so long */

/* ---- for the checks ---- */
byte last = OLD;                 /* the age of the number of the last lease that was trusted */
byte stuck;                      /* TIMED: for how long the name has been with an owner whom a live session gave up */
byte lostcleanups;
byte losses = B_LOSS, crashes = B_CRASH, cuts = B_SUB, stalls = B_STALL, slow = B_SLOW;

/* Scratch, which is no part of the state. Every inline below overwrites some of it. */
hidden byte h, i, j, k, tmp, found;

#define OF(e)        ((e)/2)                             /* whose owner is it? */
#define SELF(s)      (2*(s) + which[s])
#define OTHER(s)     (2*(s) + 1 - which[s])
#define trusting(s)  ((doing[s]==HOLD || doing[s]==REN) && trust[s] > 0)
#define up(s)        (doing[s] != DEAD && !stalled[s])
#ifdef TIMED
#define may_ask(s)   (!asked[s])
#define may_clean(e) (!cleaned[e])
#define note(flag)   flag = 1
#else                                                    /* free time has no use for the two, and they would cost states */
#define may_ask(s)   1
#define may_clean(e) 1
#define note(flag)   skip
#endif

/* ================================================================ what must hold */

inline check() {
  i = 0; j = 0;
  do
  :: i < NS ->
    if
    :: trusting(i) -> j++; assert(owner == SELF(i)+1)    /* trust lies inside the key's life. One step before the next: */
    :: else
    fi; i++
  :: else -> break
  od;
  assert(j <= 1);                                        /* two never trust at once */
  j = 0
}

inline check_number(n) {                                 /* the newest number, and the first lease with it */
#ifndef NONUM
  assert((n) < last)
#else
  skip
#endif
}

inline check_order() {                                   /* an acquire that is granted at once overtakes nobody */
  i = 0;
  do
  :: i < waiting -> assert(!(listens[OF(queue[i]-1)] && fresh[queue[i]-1] > 0)); i++
  :: else -> break
  od
}

/* ================================================================ the scripts */

inline find(e) {                                         /* in the queue? -> found */
  found = 0; i = 0;
  do
  :: i < waiting -> if :: queue[i] == (e)+1 -> found = 1 :: else fi; i++
  :: else -> break
  od
}

inline drop(e) {                                         /* out of the queue */
  i = 0; j = 0;
  do
  :: i < waiting ->
    if
    :: queue[i] != (e)+1 -> tmp = queue[i]; queue[i] = 0; queue[j] = tmp; j++
    :: else -> queue[i] = 0
    fi; i++
  :: else -> break
  od;
  waiting = j; fresh[e] = 0
}

/* R15, number every grant where it is made: the key and its number change in one script, or somebody sees one without the
 * other. To take a new number is here to make all others older. The answer to a renewal has none. */
inline give(e) {
  owner = (e)+1; expiry = TTL; stuck = 0;
#ifndef M_OLDNUMBER
  i = 0;
  do
  :: i < NE -> if :: push[i] > 0 && push[i] <= OLD -> push[i]++ :: else fi; i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < NS -> if :: answer[i] == YOURS && doing[i] != REN && number[i] < OLD -> number[i]++ :: else fi; i++
  :: else -> break
  od;
  if :: last < OLD -> last++ :: else fi
#endif
}

/* The name goes on to the next who waits, or to nobody.
 * R1, count first, publish once: in a cluster a push arrives though the publisher saw no receiver, so a publisher that goes on
 * to the next until somebody was seen grants the name to all of them.
 * R17, pass over who does not listen or no longer asks: it would only be found out after a TTL. Safe without. */
inline hand_off() {
  owner = 0; expiry = 0;
  do
#ifdef M_PUBFIRST
  :: waiting > 0 ->
    h = queue[0]-1; drop(h);
    if
    :: listens[OF(h)] -> give(h); push[h] = 1            /* arrives, and was not seen to */
    :: else
    fi
  :: else -> owner = 0; expiry = 0; break
#else
  :: waiting > 0 && owner == 0 ->
    h = queue[0]-1;
    if
#ifdef M_NOSKIP
    :: true -> drop(h); give(h); if :: listens[OF(h)] -> push[h] = 1 :: else fi
#else
    :: listens[OF(h)] && fresh[h] > 0 -> drop(h); give(h); push[h] = 1
    :: else -> drop(h)
#endif
    fi
  :: else -> break
#endif
  od
}

/* acquire -> tmp. It may run twice for one owner, as a ghost, and then finds what it did before.
 * R3, head first: a name that is free because its lease ran out belongs to who waits, not to who comes by. */
inline run_acquire(e) {
#ifndef M_BARGE
  if
  :: owner == 0 && waiting > 0 -> hand_off()
  :: else
  fi;
#endif
  if
  :: owner == (e)+1 -> tmp = YOURS
  :: owner == 0 -> check_order(); give(e); tmp = YOURS
  :: else ->
    find(e);
    if :: !found -> queue[waiting] = (e)+1; waiting++ :: else fi;
    fresh[e] = FRESH; tmp = QUEUED
  fi
}

/* ask -> tmp.
 * R4, every ask drives: whoever asks hands a free name on. If only the head did, those behind a dead one would wait for ever.
 * R2, never join by ask: a question that comes late would queue, and be granted, an owner that was given up. */
inline run_ask(e) {
  find(e);
  if :: found -> fresh[e] = FRESH :: else fi;            /* before the hand-off, which must not pass over who just asked */
#ifndef M_ASKPASSIVE
  if :: owner == 0 && waiting > 0 -> hand_off() :: else fi;
#endif
  if
  :: owner == (e)+1 -> tmp = YOURS
  :: else ->
    find(e);
    if
    :: found -> tmp = QUEUED
    :: else ->
#ifdef M_REJOIN_SCRIPT
      run_acquire(e)
#else
      tmp = NEITHER
#endif
    fi
  fi
}

/* release. R18, leaving is releasing: who leaves the queue may have been granted in that moment, so one script does both. */
inline run_release(e) {
  drop(e);
  if :: owner == (e)+1 -> hand_off() :: else fi
}

/* renew -> tmp. R16, renew only what is yours. */
inline run_renew(e) {
  if
#ifdef M_RENEWANY
  :: owner != 0 -> expiry = TTL; tmp = YOURS
#else
  :: owner == (e)+1 -> expiry = TTL; tmp = YOURS
#endif
  :: else -> tmp = NEITHER
  fi
}

/* ================================================================ what a session does with it */

inline give_up(e) { owes[e] = 1; cleaned[e] = 0 }

inline clear(s) { sent[s] = 0; answer[s] = 0; number[s] = 0; waited[s] = 0; trust[s] = 0 }

inline send_acquire(s) { clear(s); doing[s] = ACQ; sent[s] = TTL; note(asked[s]) }

/* A grant has come, of which so much trust is left. One without any is given back and never shown to the caller. */
inline begin(s, left, n) {
  if
  :: (left) > 0 ->
    check_number(n);
    last = (n); k = (left);
    clear(s); doing[s] = HOLD; trust[s] = k
  :: else -> clear(s); give_up(SELF(s)); doing[s] = RETRY
  fi
}

/* R11, trust counts from the sending: the process, or the answer, may have slept for any time. For a grant to who waits, the
 * sending is that of the last question that was answered "still queued"; before the first answer, that of the acquire.
 * R12, asking is not renewing: "yours" to a question says nothing of the expiry, which runs since the grant. */
#ifdef M_ARRIVAL
#define FROM_ACQUIRE(s)  TTL
#define FROM_QUESTION(s) TTL
#define FROM_WAITING(s)  TTL
#else
#define FROM_ACQUIRE(s)  sent[s]
#ifdef M_ASKTRUST
#define FROM_QUESTION(s) sent[s]
#else
#define FROM_QUESTION(s) waited[s]
#endif
#define FROM_WAITING(s)  waited[s]
#endif

inline pushed(s, n) {
  if
  :: doing[s]==ACQ -> begin(s, FROM_ACQUIRE(s), n)
  :: else -> begin(s, FROM_WAITING(s), n)
  fi
}

/* R6, clean up until a TTL after the sending: a clean-up that was answered while the acquire could still run proves nothing,
 * since the acquire may run behind it. */
inline clean_done(e) {
  note(cleaned[e]);
  if
#ifdef M_CLEANONCE
  :: true -> owes[e] = 0; unanswered[e] = 0; late[e] = 0
#else
#ifdef M_CLEANBEFORE
  :: !unanswered[e] || late[e] <= 1 -> owes[e] = 0; unanswered[e] = 0; late[e] = 0
#else
  :: !unanswered[e] || late[e] == 0 -> owes[e] = 0; unanswered[e] = 0
#endif
#endif
  :: else
  fi
}

/* Nothing mentions the owner: its number may stand for a new one. */
#if NS > 2
#define in_queue(e) (queue[0]==(e)+1 || queue[1]==(e)+1 || queue[2]==(e)+1 || queue[3]==(e)+1 || queue[4]==(e)+1 || queue[5]==(e)+1)
#else
#define in_queue(e) (queue[0]==(e)+1 || queue[1]==(e)+1 || queue[2]==(e)+1 || queue[3]==(e)+1)
#endif
#define unused(e)   (!owes[e] && !ghost[e] && push[e]==0 && owner!=(e)+1 && !in_queue(e))

/* TIMED: what a session does before time goes on. A request runs in time also when its sender stands still. */
#define owed(s,e)   (push[e] > 0 || (owes[e] && !cleaned[e]))
#define urgent(s)   (((doing[s]==ACQ || doing[s]==ASK) && answer[s]==0) || \
  (up(s) && (answer[s]!=0 || !listens[s] || (doing[s]==WAIT && !asked[s]) || (doing[s]==HOLD && trust[s]==0) || \
   (doing[s]==RETRY && unused(OTHER(s))) || owed(s,2*s) || owed(s,2*s+1))))
#if NS > 2
#define quiet       (!urgent(0) && !urgent(1) && !urgent(2))
#else
#define quiet       (!urgent(0) && !urgent(1))
#endif

proctype Session(byte s)
{
  do
  /* ---- what it sent runs on the server */
  :: atomic { doing[s]==ACQ && answer[s]==0 -> d_step { run_acquire(SELF(s)); answer[s] = tmp; number[s] = 0; check() } }
  :: atomic { doing[s]==ASK && answer[s]==0 -> d_step { run_ask(SELF(s)); answer[s] = tmp; number[s] = 0; check() } }
#ifndef TIMED
  :: atomic { doing[s]==REN && answer[s]==0 -> d_step { run_renew(SELF(s)); answer[s] = tmp; check() } }
#endif

  /* ---- a caller comes. Subscribed first, or a hand-off would pass over it */
  :: atomic { doing[s]==IDLE && up(s) && listens[s] && may_ask(s) && unused(OTHER(s)) ->
    which[s] = 1 - which[s]; send_acquire(s) }
  /* or none ever comes again; but it may not rest with anything owed */
  :: atomic { (doing[s]==IDLE || doing[s]==DEAD) && !urgent(s) -> skip }
  :: atomic { doing[s]==RETRY && up(s) && listens[s] && unused(OTHER(s)) ->
    which[s] = 1 - which[s]; send_acquire(s) }

  /* ---- answers */
  :: atomic { doing[s]==ACQ && up(s) && answer[s]==YOURS -> d_step { begin(s, FROM_ACQUIRE(s), number[s]); check() } }
  :: atomic { doing[s]==ASK && up(s) && answer[s]==YOURS -> d_step { begin(s, FROM_QUESTION(s), number[s]); check() } }
  :: atomic { doing[s]==ACQ && up(s) && answer[s]==QUEUED -> d_step { k = sent[s]; clear(s); waited[s] = k; doing[s] = WAIT } }
  :: atomic { doing[s]==ASK && up(s) && answer[s]==QUEUED -> d_step { k = sent[s]; clear(s); waited[s] = k; doing[s] = WAIT } }
  /* R5, fresh number on re-join: a push to the old owner may be on its way, and must not be taken for the new grant.
     R6 holds here too: if its acquire had no answer, "neither" may be said before that acquire runs. */
  :: atomic { doing[s]==ASK && up(s) && answer[s]==NEITHER -> d_step {
#ifdef M_REJOIN_SAMEID
    send_acquire(s)
#else
    clear(s);
#ifdef M_NOCLEAN_NEITHER
    unanswered[SELF(s)] = 0; late[SELF(s)] = 0;
#else
    if :: unanswered[SELF(s)] -> give_up(SELF(s)) :: else fi;
#endif
    doing[s] = RETRY
#endif
    } }

  /* ---- no answer. To the acquire: it goes on by asking, or gives up; the acquire may still run */
  :: atomic { doing[s]==ACQ && up(s) && losses > 0 -> d_step {
    losses--;
    if :: answer[s]==0 -> ghost[SELF(s)] = 1 :: else fi;
    unanswered[SELF(s)] = 1; late[SELF(s)] = sent[s];
    k = sent[s]; clear(s); waited[s] = k; doing[s] = WAIT; asked[s] = 0 } }
  /* to a question: it asks again */
  :: atomic { doing[s]==ASK && up(s) && answer[s]!=0 && losses > 0 ->
    losses--; answer[s] = 0; number[s] = 0; sent[s] = 0; doing[s] = WAIT }

  /* ---- waiting */
  :: atomic { doing[s]==WAIT && up(s) && may_ask(s) -> doing[s] = ASK; sent[s] = TTL; note(asked[s]) }
  :: atomic { (doing[s]==WAIT || doing[s]==ASK || doing[s]==RETRY) && up(s) -> d_step {     /* the caller's context is over */
#ifdef M_LEAVEKEEPS
    if :: doing[s] != RETRY -> drop(SELF(s)) :: else fi;
#else
    if :: doing[s] != RETRY -> give_up(SELF(s)) :: else fi;
#endif
    clear(s); doing[s] = IDLE } }
  :: atomic { up(s) && !listens[s] -> listens[s] = 1; asked[s] = 0 }                        /* subscribed again: ask at once */

  /* ---- pushes: to whom it is now … */
  :: atomic { up(s) && push[SELF(s)] > 0 && (doing[s]==WAIT || doing[s]==ASK || doing[s]==ACQ) -> d_step {
    tmp = push[SELF(s)]-1; push[SELF(s)] = 0; pushed(s, tmp); check() } }
  :: atomic { up(s) && push[SELF(s)] > 0 && (doing[s]==HOLD || doing[s]==REN) -> push[SELF(s)] = 0 }   /* knew it by an answer */
  :: atomic { up(s) && push[SELF(s)] > 0 && (doing[s]==IDLE || doing[s]==RETRY) -> push[SELF(s)] = 0; give_up(SELF(s)) }
  /* … and R5's other half: to whom it was, it counts for nobody and is released at once */
#ifdef M_ANYPUSH
  :: atomic { up(s) && push[OTHER(s)] > 0 && (doing[s]==WAIT || doing[s]==ASK || doing[s]==ACQ) -> d_step {
    tmp = push[OTHER(s)]-1; push[OTHER(s)] = 0; pushed(s, tmp); check() } }
#endif
  :: atomic { up(s) && push[OTHER(s)] > 0 -> push[OTHER(s)] = 0; give_up(OTHER(s)) }

  /* ---- holding. R16's other half: a renewal that is answered after the deadline revives nothing */
#ifndef TIMED
  :: atomic { doing[s]==HOLD && up(s) && trust[s] > 0 -> sent[s] = TTL; doing[s] = REN }
  :: atomic { doing[s]==REN && up(s) && answer[s]==YOURS -> d_step {
    k = trust[s];
#ifdef M_REVIVE
    if :: sent[s] > k -> k = sent[s] :: else fi;
#else
    if :: k > 0 && sent[s] > k -> k = sent[s] :: else fi;
#endif
    clear(s); trust[s] = k; doing[s] = HOLD; check() } }
  :: atomic { doing[s]==REN && up(s) && answer[s]==NEITHER -> d_step { clear(s); give_up(SELF(s)); doing[s] = IDLE } }
  :: atomic { doing[s]==REN && up(s) && answer[s]!=0 -> answer[s] = 0; sent[s] = 0; doing[s] = HOLD }  /* lost: proves nothing */
#endif
  /* released, or lost: a loss too sends a release behind it */
  :: atomic { (doing[s]==HOLD || doing[s]==REN) && up(s) -> d_step { clear(s); give_up(SELF(s)); doing[s] = IDLE } }

  /* ---- cleaning up: sent, run and answered in one step, or lost */
  :: atomic { up(s) && owes[2*s] && may_clean(2*s) -> d_step { run_release(2*s); clean_done(2*s); check() } }
  :: atomic { up(s) && owes[2*s+1] && may_clean(2*s+1) -> d_step { run_release(2*s+1); clean_done(2*s+1); check() } }
  :: atomic { up(s) && owes[2*s] && may_clean(2*s) && losses > 0 -> losses--; lostcleanups++; note(cleaned[2*s]) }
  :: atomic { up(s) && owes[2*s+1] && may_clean(2*s+1) && losses > 0 -> losses--; lostcleanups++; note(cleaned[2*s+1]) }

#ifdef TIMED
  :: atomic { stalled[s] -> stalled[s] = 0 }
#endif
  od
}

/* ================================================================ time */

#define less(x)     if :: x > 0 -> x-- :: else fi

inline tick() {
  k = 0;
  do
  :: k < NS ->
    less(sent[k]); less(waited[k]); less(trust[k]); asked[k] = 0; k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < NE ->
    less(fresh[k]); cleaned[k] = 0;
    if
    :: unanswered[k] || ghost[k] ->
      less(late[k]);
      if :: late[k] == 0 -> ghost[k] = 0 :: else fi      /* assumed: no request runs later than a TTL after its sending */
    :: else
    fi; k++
  :: else -> break
  od;
  if
  :: owner != 0 -> expiry--; if :: expiry == 0 -> owner = 0 :: else fi
  :: else
  fi;
#ifdef TIMED
  if
  :: owner != 0 && up(OF(owner-1)) &&
     (owner-1 != SELF(OF(owner-1)) || doing[OF(owner-1)]==IDLE || doing[OF(owner-1)]==RETRY) -> stuck++
  :: else -> stuck = 0
  fi;
  assert(stuck <= 1 + lostcleanups + (B_SLOW-slow));     /* who was given up keeps the name for one interval of clean-ups */
#endif
  check()
}

active proctype Clock()
{
  do
#ifdef TIMED
  :: atomic { quiet -> d_step { tick() } }
  :: atomic { !quiet && slow > 0 -> d_step { slow--; tick() } }
#else
  :: atomic { true -> d_step { tick() } }
#endif
  od
}

/* ================================================================ faults */

#define ghost_runs(e) :: atomic { ghost[e] -> d_step { ghost[e] = 0; run_acquire(e); check() } }
#ifdef TIMED
#define push_lost(e)  :: atomic { push[e] > 0 && losses > 0 -> losses--; push[e] = 0 }
#else
#define push_lost(e)  :: atomic { push[e] > 0 -> push[e] = 0 }
#endif
/* The kernel closes a dead process's sockets. What it had sent may still run. */
#define crash(s)      :: atomic { doing[s]!=DEAD && crashes > 0 -> d_step { crashes--; \
  if :: doing[s]==ACQ && answer[s]==0 -> ghost[SELF(s)] = 1; late[SELF(s)] = sent[s] :: else fi; \
  clear(s); doing[s] = DEAD; listens[s] = 0; stalled[s] = 0; asked[s] = 0; \
  push[2*s] = 0; push[2*s+1] = 0; owes[2*s] = 0; owes[2*s+1] = 0; cleaned[2*s] = 0; cleaned[2*s+1] = 0; \
  unanswered[2*s] = 0; unanswered[2*s+1] = 0 } }
/* A push that came before the cut may still sit in the socket's buffer; push_lost takes the others. */
#define cut(s)        :: atomic { doing[s]!=DEAD && listens[s] && cuts > 0 -> cuts--; listens[s] = 0 }
#define stall(s)      :: atomic { up(s) && doing[s]!=IDLE && stalls > 0 -> stalls--; stalled[s] = 1 }

active proctype Faults()
{
  do
  ghost_runs(0) ghost_runs(1) ghost_runs(2) ghost_runs(3)
  push_lost(0) push_lost(1) push_lost(2) push_lost(3)
  crash(0) crash(1)
  cut(0) cut(1)
#ifdef TIMED
  stall(0) stall(1)
#endif
#if NS > 2
  ghost_runs(4) ghost_runs(5)
  push_lost(4) push_lost(5)
  crash(2)
  cut(2)
#ifdef TIMED
  stall(2)
#endif
#endif
  od
}

init {
  atomic {
    k = 0;
    do :: k < NS -> listens[k] = 1; k++ :: else -> break od;
    run Session(0); run Session(1);
#if NS > 2
    run Session(2);
#endif
    k = 0
  }
}

/* ================================================================ what must happen in the end */

#ifdef LTL
#define wants(s)    (doing[s]==ACQ || doing[s]==WAIT || doing[s]==ASK || doing[s]==RETRY)
#define with_dead   (owner!=0 && doing[OF(owner-1)]==DEAD)
#if NS > 2
#define anybody     (wants(0) || wants(1) || wants(2))
#else
#define anybody     (wants(0) || wants(1))
#endif
#define with_nobody (owner==0 && anybody)

/* who waits is granted, or leaves, or dies */
ltl served0 { [] (wants(0) -> <> !wants(0)) }
ltl served1 { [] (wants(1) -> <> !wants(1)) }
/* the dead do not keep the name; and it does not stay with nobody while somebody waits */
ltl freed   { [] (with_dead -> <> !with_dead) }
ltl passed  { [] (with_nobody -> <> !with_nobody) }
#endif
