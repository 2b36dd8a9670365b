import { plainToInstance } from 'class-transformer';
import type { StartRun } from '#rollcall/agent-runtime';
import type { Principal } from '../auth/principal.js';
import { validated } from '../http/validation/validation.pipe.js';
import { toStartRun } from '../runs/run.request.js';
import { StartRunBody } from '../runs/runs.dto.js';
import type { A2aAgent } from './a2a.agent.js';

/** The fields of the metadata that apply to the start of a run, with the meaning that they have in POST /v1/runs. */
const FIELDS = ['capabilities', 'prefer', 'budget', 'deadline'] as const;
/** The validation of the body requires an input. The real input is set later. */
const PLACEHOLDER = 'input';

/** The target and the limits of a new run, from the agent that the client addresses and from the metadata of its request. */
export function startOf(
  { target }: A2aAgent,
  caller: Principal,
  metadata: Readonly<Record<string, unknown>>,
): Omit<StartRun, 'input'> {
  const wanted = FIELDS.filter((name) => metadata[name] !== undefined).map((name) => [name, metadata[name]]);
  const body = plainToInstance(StartRunBody, { ...Object.fromEntries(wanted), input: PLACEHOLDER });
  const start = toStartRun(validated(body), caller);
  return target ? { ...start, target } : start;
}
