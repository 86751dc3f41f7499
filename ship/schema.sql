-- SPDX-License-Identifier: GPL-2.0-or-later
-- The database of a fleet: PostgreSQL 13 or later, encoding UTF8.  docs/operate/fleet.md says what it is for.
-- A row of slice, loss, flow, fresh or census is in the partition of its day, UTC, so that what is old goes as a whole.
-- The owner of tables of an older version runs all of it again, as one transaction: what is there stays, what is missing comes.

DO $$
DECLARE
	has record;
BEGIN
	SELECT tableowner AS owner INTO has FROM pg_tables WHERE schemaname = 'commprof' AND tablename = 'version';
	IF NOT FOUND THEN
		-- A schema of others is left alone: that fails.
		CREATE SCHEMA commprof;
	ELSIF has.owner <> current_user THEN
		-- Days are added as the owner, so all tables are its own.
		RAISE EXCEPTION 'the tables are of %, who alone brings them up to date', has.owner USING ERRCODE = '42501';
	ELSIF EXISTS (SELECT FROM commprof.version WHERE version > 2) THEN
		RAISE EXCEPTION 'the tables are of a newer version';
	END IF;
END $$;
CREATE TABLE IF NOT EXISTS commprof.version (version integer NOT NULL);

CREATE TABLE IF NOT EXISTS commprof.host (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS commprof.service (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
-- Threads of a pool as one: names without their number.
CREATE TABLE IF NOT EXISTS commprof.role (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
-- address: in the file of that build-id.
CREATE TABLE IF NOT EXISTS commprof.function (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL, module text NOT NULL, build_id text NOT NULL, address bigint NOT NULL,
	UNIQUE (name, module, build_id, address));
CREATE TABLE IF NOT EXISTS commprof.object (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name text NOT NULL, kind text NOT NULL, module text NOT NULL, build_id text NOT NULL,
	UNIQUE (name, kind, module, build_id));

-- shipped_ns: up to which time since its start the run is here, the mark behind which a host goes on.
-- missing_ns: of that time, what was in no slice any more when it was to be sent.
-- clock_ahead_s: the host's clock minus this one's when it sent last; 0: less than a minute.
CREATE TABLE IF NOT EXISTS commprof.run (
	uuid uuid PRIMARY KEY,
	host integer NOT NULL REFERENCES commprof.host, service integer NOT NULL REFERENCES commprof.service,
	source text NOT NULL, start timestamptz NOT NULL,
	shipped_ns bigint NOT NULL DEFAULT 0, slices bigint NOT NULL DEFAULT 0, missing_ns bigint NOT NULL DEFAULT 0,
	clock_ahead_s double precision NOT NULL DEFAULT 0, received timestamptz);

-- bytes: what threads read that other threads wrote; unseen_bytes: what was read of writers that nobody saw.
CREATE TABLE IF NOT EXISTS commprof.slice (
	t timestamptz NOT NULL, run uuid NOT NULL, length_ns bigint NOT NULL, samples bigint NOT NULL,
	bytes double precision NOT NULL, unseen_bytes double precision NOT NULL,
	target_ns bigint NOT NULL, cost_ns bigint NOT NULL, missing_ns bigint NOT NULL,
	PRIMARY KEY (t, run)) PARTITION BY RANGE (t);
CREATE TABLE IF NOT EXISTS commprof.loss (
	t timestamptz NOT NULL, run uuid NOT NULL, cause text NOT NULL, n bigint NOT NULL,
	PRIMARY KEY (t, run, cause)) PARTITION BY RANGE (t);
-- Variances add up as bytes do; intervals do not, and are made of sums.
CREATE TABLE IF NOT EXISTS commprof.flow (
	t timestamptz NOT NULL, run uuid NOT NULL,
	writer_role integer NOT NULL, writer_function bigint NOT NULL,
	reader_role integer NOT NULL, reader_function bigint NOT NULL, object bigint NOT NULL,
	bytes double precision NOT NULL, variance double precision NOT NULL,
	first_bytes double precision NOT NULL, first_variance double precision NOT NULL, bursts bigint NOT NULL,
	PRIMARY KEY (t, run, writer_role, writer_function, reader_role, reader_function, object)) PARTITION BY RANGE (t);

-- What the survey says (docs/method/survey.md).  Windows on words that change within a second: who wrote them last.
-- across: another thread did, maybe of the same role.  windows: that it rests on.
CREATE TABLE IF NOT EXISTS commprof.fresh (
	t timestamptz NOT NULL, run uuid NOT NULL, across boolean NOT NULL,
	writer_role integer NOT NULL, writer_function bigint NOT NULL,
	reader_role integer NOT NULL, reader_function bigint NOT NULL, object bigint NOT NULL,
	bytes double precision NOT NULL, variance double precision NOT NULL, windows bigint NOT NULL,
	PRIMARY KEY (t, run, across, writer_role, writer_function, reader_role, reader_function, object)) PARTITION BY RANGE (t);
-- Of words that were read, and drawn: outcome is waits, changed, or unchanged.  lag_ms: the look that found them changed, or the
-- last one that did not.  squares: of what each word stands for, summed.
CREATE TABLE IF NOT EXISTS commprof.census (
	t timestamptz NOT NULL, run uuid NOT NULL, role integer NOT NULL, function bigint NOT NULL, object bigint NOT NULL,
	outcome text NOT NULL, lag_ms bigint NOT NULL,
	bytes double precision NOT NULL, squares double precision NOT NULL, words bigint NOT NULL,
	PRIMARY KEY (t, run, role, function, object, outcome, lag_ms)) PARTITION BY RANGE (t);
-- fresh_unseen_bytes: what windows stand for whose writer is not known; windows: all.
ALTER TABLE commprof.slice ADD COLUMN IF NOT EXISTS fresh_unseen_bytes double precision NOT NULL DEFAULT 0,
	ADD COLUMN IF NOT EXISTS windows bigint NOT NULL DEFAULT 0;

-- The columns of a batch, in their order (docs/formats/batch.md).  It stays empty: who sends has a table like it.
CREATE TABLE IF NOT EXISTS commprof.arrival (
	kind text NOT NULL, t timestamp NOT NULL, run uuid NOT NULL, start_ns bigint NOT NULL, length_ns bigint NOT NULL,
	host text NOT NULL, service text NOT NULL, source text NOT NULL,
	writer_role text NOT NULL, writer_function text NOT NULL, writer_module text NOT NULL,
	writer_build_id text NOT NULL, writer_address bigint NOT NULL,
	reader_role text NOT NULL, reader_function text NOT NULL, reader_module text NOT NULL,
	reader_build_id text NOT NULL, reader_address bigint NOT NULL,
	object_kind text NOT NULL, object text NOT NULL, object_module text NOT NULL, object_build_id text NOT NULL,
	bytes double precision NOT NULL, variance double precision NOT NULL,
	first_bytes double precision NOT NULL, first_variance double precision NOT NULL, samples bigint NOT NULL,
	cause text NOT NULL, unseen_bytes double precision NOT NULL,
	target_ns bigint NOT NULL, cost_ns bigint NOT NULL, missing_ns bigint NOT NULL);

-- Flows with their names.
CREATE OR REPLACE VIEW commprof.named_flow AS
	SELECT f.t, f.run, h.name AS host, s.name AS service, wr.name AS writer_role, wf.name AS writer_function,
		rr.name AS reader_role, rf.name AS reader_function, o.name AS object,
		f.bytes, f.variance, f.first_bytes, f.first_variance, f.bursts
	FROM commprof.flow f JOIN commprof.run r ON r.uuid = f.run
	JOIN commprof.host h ON h.id = r.host JOIN commprof.service s ON s.id = r.service
	JOIN commprof.role wr ON wr.id = f.writer_role JOIN commprof.function wf ON wf.id = f.writer_function
	JOIN commprof.role rr ON rr.id = f.reader_role JOIN commprof.function rf ON rf.id = f.reader_function
	JOIN commprof.object o ON o.id = f.object;

CREATE OR REPLACE VIEW commprof.named_fresh AS
	SELECT f.t, f.run, h.name AS host, s.name AS service, f.across, wr.name AS writer_role, wf.name AS writer_function,
		rr.name AS reader_role, rf.name AS reader_function, o.name AS object, f.bytes, f.variance, f.windows
	FROM commprof.fresh f JOIN commprof.run r ON r.uuid = f.run
	JOIN commprof.host h ON h.id = r.host JOIN commprof.service s ON s.id = r.service
	JOIN commprof.role wr ON wr.id = f.writer_role JOIN commprof.function wf ON wf.id = f.writer_function
	JOIN commprof.role rr ON rr.id = f.reader_role JOIN commprof.function rf ON rf.id = f.reader_function
	JOIN commprof.object o ON o.id = f.object;
CREATE OR REPLACE VIEW commprof.named_census AS
	SELECT c.t, c.run, h.name AS host, s.name AS service, rr.name AS role, f.name AS function, o.name AS object,
		c.outcome, c.lag_ms, c.bytes, c.squares, c.words
	FROM commprof.census c JOIN commprof.run r ON r.uuid = c.run
	JOIN commprof.host h ON h.id = r.host JOIN commprof.service s ON s.id = r.service
	JOIN commprof.role rr ON rr.id = c.role JOIN commprof.function f ON f.id = c.function
	JOIN commprof.object o ON o.id = c.object;

-- The partitions of a day.  As the owner, so that hosts need no right to make tables.
CREATE OR REPLACE FUNCTION commprof.add_day(at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	day date := (at AT TIME ZONE 'UTC')::date;
	parent text;
	child text;
BEGIN
	-- Not each day that a host can name.
	IF NOT coalesce(at >= '2000-01-01 00:00+00' AND at <= now() + interval '1 year', false) THEN
		RAISE EXCEPTION 'a day is from 2000 on, and at most a year ahead, not %', at USING ERRCODE = '22008';
	END IF;
	FOREACH parent IN ARRAY ARRAY['slice', 'loss', 'flow', 'fresh', 'census'] LOOP
		child := parent || to_char(day, '_YYYY_MM_DD');
		CONTINUE WHEN to_regclass(format('commprof.%I', child)) IS NOT NULL;
		PERFORM pg_advisory_xact_lock(1668246893);
		-- Not to_regclass(): that keeps what it has not found, though another made it while this waited.
		CONTINUE WHEN EXISTS (SELECT FROM pg_tables WHERE schemaname = 'commprof' AND tablename = child);
		EXECUTE format('CREATE TABLE commprof.%I (LIKE commprof.%I INCLUDING ALL)', child, parent);
		-- Not PARTITION OF: who writes meanwhile does not wait.
		EXECUTE format('ALTER TABLE commprof.%I ATTACH PARTITION commprof.%I FOR VALUES FROM (%L) TO (%L)',
			parent, child, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
	END LOOP;
END $$;

-- Days that have ended longer ago than that; says how many.
CREATE OR REPLACE FUNCTION commprof.drop_older(age interval) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	last date := ((now() - age) AT TIME ZONE 'UTC')::date;
	child record;
	dropped integer := 0;
BEGIN
	IF age < interval '0' THEN
		RAISE EXCEPTION 'an age is not negative';
	END IF;
	FOR child IN
		SELECT p.relname AS parent, c.relname AS name
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
		JOIN pg_namespace n ON n.oid = p.relnamespace AND n.oid = c.relnamespace
		WHERE n.nspname = 'commprof' AND p.relname IN ('slice', 'loss', 'flow', 'fresh', 'census') AND c.relkind = 'r'
			AND to_date(right(c.relname, 10), 'YYYY_MM_DD') < last
		ORDER BY 1, 2
	LOOP
		-- Another one may have dropped it while this waited.
		EXECUTE format('DROP TABLE IF EXISTS commprof.%I', child.name);
		dropped := dropped + (child.parent = 'slice')::integer;
	END LOOP;
	RETURN dropped;
END $$;

-- Takes what stands in pg_temp.batch, or says false where it is here already.  The lock on the run lets two that send the same
-- slice in one after the other.
CREATE OR REPLACE FUNCTION commprof.take_batch(clock_ahead double precision DEFAULT 0) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	head record;
	at timestamptz;
	shipped bigint;
BEGIN
	SELECT b.* INTO STRICT head FROM pg_temp.batch b WHERE b.kind = 'slice';
	at := head.t AT TIME ZONE 'UTC';
	-- Names in one order, so that two batches do not wait for each other.
	INSERT INTO commprof.host (name) SELECT head.host
		WHERE NOT EXISTS (SELECT FROM commprof.host h WHERE h.name = head.host) ON CONFLICT DO NOTHING;
	INSERT INTO commprof.service (name) SELECT head.service
		WHERE NOT EXISTS (SELECT FROM commprof.service s WHERE s.name = head.service) ON CONFLICT DO NOTHING;
	INSERT INTO commprof.run (uuid, host, service, source, start)
		SELECT head.run, h.id, s.id, head.source, at - head.start_ns / 1000.0 * interval '1 microsecond'
		FROM commprof.host h, commprof.service s WHERE h.name = head.host AND s.name = head.service
		ON CONFLICT DO NOTHING;
	SELECT r.shipped_ns INTO STRICT shipped FROM commprof.run r WHERE r.uuid = head.run FOR UPDATE;
	IF head.start_ns < shipped THEN
		RETURN false;
	END IF;
	-- An end that a row has not is empty.
	INSERT INTO commprof.role (name)
		SELECT n.name FROM (SELECT writer_role AS name FROM pg_temp.batch UNION SELECT reader_role FROM pg_temp.batch) n
		WHERE n.name <> '' AND NOT EXISTS (SELECT FROM commprof.role r WHERE r.name = n.name) ORDER BY 1 ON CONFLICT DO NOTHING;
	INSERT INTO commprof.function (name, module, build_id, address)
		SELECT n.name, n.module, n.build_id, n.address FROM (
			SELECT writer_function AS name, writer_module AS module, writer_build_id AS build_id, writer_address AS address
			FROM pg_temp.batch
			UNION SELECT reader_function, reader_module, reader_build_id, reader_address FROM pg_temp.batch) n
		WHERE n.name <> '' AND NOT EXISTS (SELECT FROM commprof.function f WHERE (f.name, f.module, f.build_id, f.address)
			= (n.name, n.module, n.build_id, n.address)) ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;
	INSERT INTO commprof.object (name, kind, module, build_id)
		SELECT n.object, n.object_kind, n.object_module, n.object_build_id FROM (
			SELECT DISTINCT object, object_kind, object_module, object_build_id FROM pg_temp.batch WHERE object <> '') n
		WHERE NOT EXISTS (SELECT FROM commprof.object o WHERE (o.name, o.kind, o.module, o.build_id)
			= (n.object, n.object_kind, n.object_module, n.object_build_id)) ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING;
	INSERT INTO commprof.slice (t, run, length_ns, samples, bytes, unseen_bytes, target_ns, cost_ns, missing_ns,
			fresh_unseen_bytes, windows)
		SELECT at, head.run, head.length_ns, head.samples, head.bytes, head.unseen_bytes, head.target_ns,
			head.cost_ns, head.missing_ns, coalesce(sum(b.bytes), 0), coalesce(sum(b.samples), 0)
		FROM pg_temp.batch b WHERE b.kind = 'fresh' AND b.cause = 'unknown' ON CONFLICT DO NOTHING;
	INSERT INTO commprof.loss (t, run, cause, n)
		SELECT at, head.run, b.cause, sum(b.samples) FROM pg_temp.batch b WHERE b.kind = 'loss'
		GROUP BY b.cause ON CONFLICT DO NOTHING;
	-- A name that is missing would be NULL, which no row may have: nothing is lost without a word.
	INSERT INTO commprof.flow (t, run, writer_role, writer_function, reader_role, reader_function, object,
			bytes, variance, first_bytes, first_variance, bursts)
		SELECT at, head.run, wr.id, wf.id, rr.id, rf.id, o.id,
			sum(b.bytes), sum(b.variance), sum(b.first_bytes), sum(b.first_variance), sum(b.samples)
		FROM pg_temp.batch b
		LEFT JOIN commprof.role wr ON wr.name = b.writer_role
		LEFT JOIN commprof.role rr ON rr.name = b.reader_role
		LEFT JOIN commprof.function wf ON (wf.name, wf.module, wf.build_id, wf.address)
			= (b.writer_function, b.writer_module, b.writer_build_id, b.writer_address)
		LEFT JOIN commprof.function rf ON (rf.name, rf.module, rf.build_id, rf.address)
			= (b.reader_function, b.reader_module, b.reader_build_id, b.reader_address)
		LEFT JOIN commprof.object o ON (o.name, o.kind, o.module, o.build_id)
			= (b.object, b.object_kind, b.object_module, b.object_build_id)
		WHERE b.kind = 'flow' GROUP BY wr.id, wf.id, rr.id, rf.id, o.id ON CONFLICT DO NOTHING;
	INSERT INTO commprof.fresh (t, run, across, writer_role, writer_function, reader_role, reader_function, object,
			bytes, variance, windows)
		SELECT at, head.run, b.cause = 'across', wr.id, wf.id, rr.id, rf.id, o.id,
			sum(b.bytes), sum(b.variance), sum(b.samples)
		FROM pg_temp.batch b
		LEFT JOIN commprof.role wr ON wr.name = b.writer_role
		LEFT JOIN commprof.role rr ON rr.name = b.reader_role
		LEFT JOIN commprof.function wf ON (wf.name, wf.module, wf.build_id, wf.address)
			= (b.writer_function, b.writer_module, b.writer_build_id, b.writer_address)
		LEFT JOIN commprof.function rf ON (rf.name, rf.module, rf.build_id, rf.address)
			= (b.reader_function, b.reader_module, b.reader_build_id, b.reader_address)
		LEFT JOIN commprof.object o ON (o.name, o.kind, o.module, o.build_id)
			= (b.object, b.object_kind, b.object_module, b.object_build_id)
		WHERE b.kind = 'fresh' AND b.cause IN ('across', 'own')
		GROUP BY b.cause, wr.id, wf.id, rr.id, rf.id, o.id ON CONFLICT DO NOTHING;
	INSERT INTO commprof.census (t, run, role, function, object, outcome, lag_ms, bytes, squares, words)
		SELECT at, head.run, rr.id, rf.id, o.id, split_part(b.cause, ' ', 1),
			coalesce(nullif(split_part(b.cause, ' ', 2), '')::bigint, 0), sum(b.bytes), sum(b.variance), sum(b.samples)
		FROM pg_temp.batch b
		LEFT JOIN commprof.role rr ON rr.name = b.reader_role
		LEFT JOIN commprof.function rf ON (rf.name, rf.module, rf.build_id, rf.address)
			= (b.reader_function, b.reader_module, b.reader_build_id, b.reader_address)
		LEFT JOIN commprof.object o ON (o.name, o.kind, o.module, o.build_id)
			= (b.object, b.object_kind, b.object_module, b.object_build_id)
		WHERE b.kind = 'census' GROUP BY rr.id, rf.id, o.id, 6, 7 ON CONFLICT DO NOTHING;
	UPDATE commprof.run r SET shipped_ns = head.start_ns + head.length_ns, slices = r.slices + 1,
		missing_ns = r.missing_ns + head.missing_ns, clock_ahead_s = clock_ahead, received = clock_timestamp()
		WHERE r.uuid = head.run;
	RETURN true;
END $$;

-- For who owns the tables, and add_day() for the role of the hosts (docs/operate/fleet.md).
REVOKE EXECUTE ON FUNCTION commprof.drop_older(interval), commprof.add_day(timestamptz) FROM PUBLIC;
-- Who may add flows, or read them, may do so with what came later.
DO $$
DECLARE
	has record;
BEGIN
	FOR has IN SELECT DISTINCT privilege_type AS what, CASE grantee WHEN 'PUBLIC' THEN grantee ELSE quote_ident(grantee) END AS who,
			CASE table_name WHEN 'flow' THEN 'commprof.fresh, commprof.census'
				ELSE 'commprof.named_fresh, commprof.named_census' END AS these
		FROM information_schema.role_table_grants
		WHERE table_schema = 'commprof' AND table_name IN ('flow', 'named_flow') AND grantee <> current_user
	LOOP
		EXECUTE format('GRANT %s ON %s TO %s', has.what, has.these, has.who);
	END LOOP;
END $$;
INSERT INTO commprof.version SELECT 2 WHERE NOT EXISTS (SELECT FROM commprof.version WHERE version >= 2);
