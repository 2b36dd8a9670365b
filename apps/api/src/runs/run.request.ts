import type { RunActor, StartRun } from '#rollcall/agent-runtime';
import { message } from '#rollcall/providers';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import type { StartRunBody } from './runs.dto.js';

/** Rejects a body that names more than one target, or `prefer` without `capabilities`. */
export function toStartRun(body: StartRunBody, { namespace, owner: by }: Principal): StartRun {
  const { agent, definition, capabilities, prefer, input, data, budget, deadline, redactAfterMs } = body;
  const named = Object.entries({ agent, definition, capabilities }).filter(([, value]) => value !== undefined);
  if (named.length > 1) {
    const text = `${named.map(([field]) => field).join(', ')}: name only one of them`;
    throw validationFailed([{ field: named[1]?.[0] ?? 'agent', message: text }]);
  }
  if (prefer !== undefined && capabilities === undefined)
    throw validationFailed([{ field: 'prefer', message: 'prefer needs capabilities' }]);
  return {
    namespace,
    target: { agent, definition, capabilities, prefer },
    input: message(input, data).parts,
    ...(budget && { limit: { tokens: budget.tokens ?? null, microUsd: budget.microUsd ?? null } }),
    ...(deadline !== undefined && { deadline: Date.parse(deadline) }),
    ...(redactAfterMs !== undefined && { redactAfterMs }),
    by,
  };
}

export function actorOf({ owner: by, permissions }: Principal): RunActor {
  return { by, mayManage: permissions.includes('runs:manage') };
}
