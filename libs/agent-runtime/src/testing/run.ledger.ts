/** The faults that must not occur when replicas are killed while they execute runs. All lists must be empty. */
export interface RunFaults {
  /** Runs with missing steps. */
  readonly gaps: readonly object[];
  /** Turns of runs with several replies of the model. */
  readonly repeated: readonly object[];
  /** Runs whose charged tokens differ from the tokens that their replies report. */
  readonly unequal: readonly object[];
}

export async function runFaults(query: (sql: string) => Promise<readonly object[]>): Promise<RunFaults> {
  return { gaps: await query(GAPS), repeated: await query(REPEATED), unequal: await query(UNEQUAL) };
}

const GAPS = 'SELECT run_id FROM run_step GROUP BY run_id HAVING count(*) <> max(seq)';

const REPEATED = `SELECT run_id, step->>'turn' AS turn FROM run_step WHERE step->>'type' = 'model-replied' GROUP BY 1, 2 HAVING count(*) > 1`;

const UNEQUAL = `
  WITH replied AS (SELECT run_id, sum((step->'reply'->'usage'->>'inputTokens')::bigint
      + (step->'reply'->'usage'->>'outputTokens')::bigint) AS tokens
    FROM run_step WHERE step->>'type' = 'model-replied' GROUP BY 1)
  SELECT run_id, tokens, used_tokens FROM replied JOIN budget ON kind = 'run' AND subject = run_id
  WHERE used_tokens <> tokens`;
