import { isRead } from './statement.js';

describe('a statement', () => {
  it.each([
    'SELECT 1',
    '\n  select id FROM run FOR UPDATE SKIP LOCKED',
    'WITH held AS (SELECT id FROM run WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE) SELECT id FROM held',
    'WITH RECURSIVE share AS (SELECT 1) SELECT * FROM share',
    "SELECT pg_advisory_xact_lock(hashtextextended($1, 0)), 'delete or update'",
  ])('R-1 only reads or locks, and shares the round trip of BEGIN: %s', (sql) => {
    expect(isRead(sql)).toBe(true);
    expect(isRead({ name: 'one', text: sql })).toBe(true);
  });

  it.each([
    'INSERT INTO run (id) VALUES ($1)',
    'UPDATE run SET state = $1',
    'WITH r AS (INSERT INTO run (id) VALUES ($1) RETURNING *) SELECT id FROM r',
    'WITH r AS (\n  UPDATE run AS r SET state = $1 RETURNING *) SELECT id FROM r',
    'WITH r AS (UPDATE run r SET state = $1 RETURNING *) SELECT id FROM r',
    'WITH r AS (UPDATE run\n  SET state = $1 RETURNING *) SELECT id FROM r',
    'with old as (delete from run returning id) select count(*) from old',
    'WITH given AS (SELECT 1) MERGE INTO run USING given ON true WHEN MATCHED THEN DELETE',
    'DELETE FROM run',
    'LOCK TABLE run',
  ])('R-1 writes, and waits for BEGIN: %s', (sql) => {
    expect(isRead(sql)).toBe(false);
  });
});
