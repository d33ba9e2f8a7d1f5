-- append_batch(…) → one verdict a request: judges a batch of appends and writes those that pass.
--
-- It guards all that the log promises: gapless seq in commit order, prev is the entity's latest
-- event, deadlines by this database's clock, one outcome a command, one hold a session and stream.
-- It must run at READ COMMITTED, in a transaction of its own: each statement below then has a snapshot
-- younger than the locks of step 1. (One SQL statement would judge by a snapshot older than the lock
-- it waited for.)
--
-- Requests are in arrival order. r_round splits them so that those of one round share no entity, no
-- command, no session's hold and no limited address, and whoever shares something with an earlier
-- request is in a later round. Judging round by round, all of a round at once, is thus the same as judging in
-- arrival order, each request seeing those that passed before it (but for bookings of a limited address that end in the
-- same batch, which may count or not). One thing is decided early: whoever
-- names an event that is no longer an entity's latest is refused, in whichever round it is, for that never becomes
-- right again. A hundred requests for one seat thus take two rounds, and not a hundred.
--
-- Arguments (arrays; r_ one element a request, e_ an event, b_ a changed booking):
--   rounds, limited          the last round; whether any request has r_max_held
--   r_round                  1, 2, 3 …
--   r_repeats                whether an earlier request of the batch has the same command
--   r_stream, r_events, r_last   the stream, how many events, and the last one's id
--   r_session, r_key, r_route, r_body, r_booking, r_status   the command; key '' for none
--   r_from, r_before         the clock must be at or past the one and before the other; null for any
--   r_max_held               the most seats that the request's addresses may hold after it; 0 for any
--   e_request, e_place       the request's index from 1, and the event's place in it from 0
--   e_id, e_entity, e_prev, e_type, e_data, e_deadline, e_span   the event; deadline or span or neither
--   b_request, b_place       the request's index, and the place of the event that gives seq and deadline
--   b_new                    whether that event is the booking's first
--   b_id, b_session, b_held, b_state, b_seats, b_address, b_deadline, b_span   the index row
--
-- Result, in the order of the requests:
--   verdict  p passed, r replay, m mismatch, s no such stream, c clock, g guard, h held, a address
--   first    seq of the first event (p)
--   head     the stream's head after the batch
--   at       the clock by which the batch was judged
--   detail   r: the recorded command; g: the changed entities' latest events; h: the hold and its latest event
--
-- Steps:
--   1 lock the streams' rows, then commands and limited addresses, each in sorted order
--   2 read the clock
--   3 for each round: judge its requests against what is now in the tables …
--   4 … and write those that passed: events, heads, booking index, commands
--   5 return the verdicts, with what the refused need to know
CREATE OR REPLACE FUNCTION append_batch(
    rounds     integer,
    limited    boolean,
    r_round    integer[],
    r_repeats  boolean[],
    r_stream   uuid[],
    r_events   integer[],
    r_last     uuid[],
    r_session  uuid[],
    r_key      text[],
    r_route    text[],
    r_body     bytea[],
    r_booking  uuid[],
    r_status   integer[],
    r_from     timestamptz[],
    r_before   timestamptz[],
    r_max_held integer[],
    e_request  integer[],
    e_place    integer[],
    e_id       uuid[],
    e_entity   text[],
    e_prev     bigint[],
    e_type     text[],
    e_data     text[],
    e_deadline timestamptz[],
    e_span     interval[],
    b_request  integer[],
    b_place    integer[],
    b_new      boolean[],
    b_id       uuid[],
    b_session  uuid[],
    b_held     boolean[],
    b_state    text[],
    b_seats    integer[],
    b_address  text[],
    b_deadline timestamptz[],
    b_span     interval[]
) RETURNS TABLE (verdict text, first bigint, head bigint, at timestamptz, detail json)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Every look-up below is by key: plan once, for that, whatever size the tables had at the time.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    judged_at timestamptz;
    verdicts  "char"[]  := array_fill(''::"char", ARRAY[cardinality(r_round)]);
    firsts    bigint[]  := array_fill(0::bigint, ARRAY[cardinality(r_round)]);
    guarded   integer[];
    holding   integer[];
    crowded   integer[] := '{}';
    indexed   bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'append_batch needs READ COMMITTED';
    END IF;

    -- 1. Two batches never wait for each other in a circle: streams first, each kind sorted. The
    -- commands' locks matter between streams: the same key may arrive on two of them at once.
    PERFORM FROM streams WHERE id = ANY (r_stream) ORDER BY id FOR NO KEY UPDATE;
    PERFORM pg_advisory_xact_lock(wanted.lock) FROM (
        SELECT hashtextextended(r.key, uuid_hash_extended(r.session, 1)) AS lock
        FROM unnest(r_session, r_key) AS r (session, key) WHERE r.key <> ''
        UNION
        SELECT hashtextextended(b.address, 2)
        FROM unnest(b_request, b_address) AS b (request, address)
        WHERE limited AND r_max_held[b.request] > 0
        ORDER BY lock
    ) AS wanted;

    -- 2.
    judged_at := clock_timestamp();

    FOR turn IN 1 .. rounds LOOP
        IF turn > 1 THEN
            CONTINUE WHEN NOT EXISTS (
                SELECT FROM unnest(r_round, verdicts) AS r (round, verdict) WHERE r.round = turn AND r.verdict = '');
        END IF;

        -- 3. The entity's latest event is another than the one named. (A later round's request is refused already when
        -- that one is past. If it repeats a command it waits: that command may pass before its turn.)
        guarded := ARRAY(
            SELECT e.request FROM unnest(e_request, e_entity, e_prev) AS e (request, entity, prev)
            CROSS JOIN LATERAL (
                SELECT coalesce((
                    SELECT x.seq FROM events x WHERE x.stream = r_stream[e.request] AND x.entity = e.entity
                    ORDER BY x.prev DESC LIMIT 1), 0) AS seq
                OFFSET 0) AS latest
            WHERE verdicts[e.request] = '' AND CASE
                WHEN r_round[e.request] = turn THEN e.prev <> latest.seq
                ELSE e.prev < latest.seq AND NOT r_repeats[e.request]
            END);

        -- The session has another hold in the stream, and the request doesn't end it.
        holding := ARRAY(
            SELECT b.request FROM unnest(b_request, b_id, b_session, b_held) AS b (request, id, session, held)
            WHERE r_round[b.request] = turn AND b.held AND EXISTS (
                SELECT FROM bookings other
                WHERE other.stream = r_stream[b.request] AND other.session = b.session AND other.held
                AND other.id <> b.id AND NOT EXISTS (
                    SELECT FROM unnest(b_request, b_id, b_held) AS ended (request, id, held)
                    WHERE ended.request = b.request AND ended.id = other.id AND NOT ended.held)));

        -- The address would hold too many seats. Holds past their deadline don't count.
        IF limited THEN
            crowded := ARRAY(
                SELECT b.request
                FROM unnest(b_request, b_held, b_seats, b_address) AS b (request, held, seats, address)
                WHERE r_round[b.request] = turn AND r_max_held[b.request] > 0 AND b.held AND b.address <> ''
                GROUP BY b.request, b.address
                HAVING sum(b.seats) + coalesce((
                    SELECT sum(other.seats) FROM bookings other
                    WHERE other.address = b.address AND other.held AND other.address <> ''
                    AND (other.deadline IS NULL OR other.deadline > judged_at)
                    AND NOT EXISTS (
                        SELECT FROM unnest(b_request, b_id) AS mine (request, id)
                        WHERE mine.request = b.request AND mine.id = other.id)), 0)
                    > r_max_held[b.request]);
        END IF;

        SELECT array_agg(judged.verdict ORDER BY judged.n),
               array_agg(CASE
                   WHEN judged.passes THEN judged.head + 1 + judged.before
                   ELSE firsts[judged.n]
               END ORDER BY judged.n)
        INTO verdicts, firsts
        FROM (
            SELECT j.n, j.verdict, j.head, j.passes,
                   coalesce(sum(j.events) FILTER (WHERE j.passes) OVER (
                       PARTITION BY j.stream ORDER BY j.n
                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS before
            FROM (
                SELECT v.*, v.undecided AND v.verdict = 'p' AS passes
                FROM (
                    SELECT r.n::integer AS n, r.stream, r.events, s.head, verdicts[r.n] = '' AS undecided,
                        CASE
                            WHEN verdicts[r.n] <> '' THEN verdicts[r.n]
                            WHEN r.round <> turn AND r.n <> ALL (guarded) THEN ''
                            WHEN c.route = r.route AND c.body = r.body THEN 'r'
                            WHEN c.key IS NOT NULL THEN 'm'
                            WHEN s.id IS NULL THEN 's'
                            WHEN judged_at < r.clock_from OR judged_at >= r.clock_before THEN 'c'
                            WHEN r.n = ANY (guarded) THEN 'g'
                            WHEN r.n = ANY (holding) THEN 'h'
                            WHEN r.n = ANY (crowded) THEN 'a'
                            ELSE 'p'
                        END::"char" AS verdict
                    FROM unnest(r_round, r_stream, r_events, r_session, r_key, r_route, r_body, r_from, r_before)
                        WITH ORDINALITY
                        AS r (round, stream, events, session, key, route, body, clock_from, clock_before, n)
                    LEFT JOIN streams s ON s.id = r.stream
                    LEFT JOIN commands c ON c.session = r.session AND c.key = r.key AND r.key <> ''
                ) AS v
            ) AS j
        ) AS judged;

        -- 4. Nothing below runs into a constraint, unless a booking's id is another's: step 3 saw to it,
        -- under the locks of step 1.
        INSERT INTO events (stream, seq, id, entity, prev, type, data, deadline, at)
        SELECT r_stream[e.request], firsts[e.request] + e.place, e.id, e.entity, e.prev, e.type,
               e.data::json, coalesce(e.deadline, judged_at + e.span), judged_at
        FROM unnest(e_request, e_place, e_id, e_entity, e_prev, e_type, e_data, e_deadline, e_span)
            AS e (request, place, id, entity, prev, type, data, deadline, span)
        WHERE r_round[e.request] = turn AND verdicts[e.request] = 'p';
        CONTINUE WHEN NOT FOUND;

        UPDATE streams s SET head = written.head, event = written.event, open = true
        FROM (
            SELECT DISTINCT ON (r.stream) r.stream, firsts[r.n] + r.events - 1 AS head, r.last AS event
            FROM unnest(r_round, r_stream, r_events, r_last) WITH ORDINALITY AS r (round, stream, events, last, n)
            WHERE r.round = turn AND verdicts[r.n] = 'p'
            ORDER BY r.stream, r.n DESC
        ) AS written
        WHERE s.id = written.stream;

        -- Changed bookings first: a session's next hold may take the place of the one that ends here.
        UPDATE bookings old
        SET held = b.held, state = b.state, seats = b.seats, address = b.address,
            deadline = CASE WHEN b.held THEN coalesce(b.deadline, judged_at + b.span) END,
            seq = firsts[b.request] + b.place, changed = judged_at
        FROM unnest(b_request, b_place, b_new, b_id, b_session, b_held, b_state, b_seats, b_address, b_deadline, b_span)
            AS b (request, place, new, id, session, held, state, seats, address, deadline, span)
        WHERE r_round[b.request] = turn AND verdicts[b.request] = 'p' AND NOT b.new
        AND old.id = b.id AND old.stream = r_stream[b.request] AND old.session = b.session;
        GET DIAGNOSTICS indexed = ROW_COUNT;

        INSERT INTO bookings (id, stream, session, held, state, seats, address, deadline, seq, changed)
        SELECT b.id, r_stream[b.request], b.session, b.held, b.state, b.seats, b.address,
               CASE WHEN b.held THEN coalesce(b.deadline, judged_at + b.span) END,
               firsts[b.request] + b.place, judged_at
        FROM unnest(b_request, b_place, b_new, b_id, b_session, b_held, b_state, b_seats, b_address, b_deadline, b_span)
            AS b (request, place, new, id, session, held, state, seats, address, deadline, span)
        WHERE r_round[b.request] = turn AND verdicts[b.request] = 'p' AND b.new;

        -- A change must have found its row. (A new booking whose id is taken is a unique violation.)
        IF indexed <> (SELECT count(*) FROM unnest(b_request, b_new) AS b (request, new)
                       WHERE r_round[b.request] = turn AND verdicts[b.request] = 'p' AND NOT b.new) THEN
            RAISE EXCEPTION 'no such booking in this stream and session' USING ERRCODE = 'check_violation';
        END IF;

        INSERT INTO commands (session, key, route, body, booking, status, stream, seq, at)
        SELECT r.session, r.key, r.route, r.body, r.booking, r.status, r.stream, firsts[r.n] + r.events - 1, judged_at
        FROM unnest(r_round, r_session, r_key, r_route, r_body, r_booking, r_status, r_stream, r_events)
            WITH ORDINALITY AS r (round, session, key, route, body, booking, status, stream, events, n)
        WHERE r.round = turn AND r.key <> '' AND verdicts[r.n] = 'p';
    END LOOP;

    -- 5.
    RETURN QUERY
    SELECT verdicts[r.n]::text, firsts[r.n], s.head, judged_at,
        CASE verdicts[r.n]
            WHEN 'r' THEN (
                SELECT row_to_json(c) FROM commands c WHERE c.session = r.session AND c.key = r.key)
            WHEN 'g' THEN (
                SELECT json_agg(latest ORDER BY latest.seq)
                FROM unnest(e_request, e_entity, e_prev) AS e (request, entity, prev)
                CROSS JOIN LATERAL (
                    SELECT * FROM events x WHERE x.stream = r.stream AND x.entity = e.entity
                    ORDER BY x.prev DESC LIMIT 1) AS latest
                WHERE e.request = r.n AND latest.seq <> e.prev)
            WHEN 'h' THEN (
                SELECT json_build_object('booking', row_to_json(other), 'event', row_to_json(latest))
                FROM unnest(b_request, b_id, b_session, b_held) AS b (request, id, session, held)
                JOIN bookings other ON other.stream = r.stream AND other.session = b.session AND other.held
                JOIN events latest ON latest.stream = other.stream AND latest.seq = other.seq
                WHERE b.request = r.n AND b.held AND other.id <> b.id LIMIT 1)
        END
    FROM unnest(r_stream, r_session, r_key) WITH ORDINALITY AS r (stream, session, key, n)
    LEFT JOIN streams s ON s.id = r.stream
    ORDER BY r.n;
END
$$;
