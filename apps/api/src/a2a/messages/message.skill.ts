import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import type { Permission } from '../../auth/permissions.js';
import type { Address } from '../a2a.address.js';

/** The skills of Rollcall itself, each with the permission that the same operation requires in the REST API. */
const PERMISSIONS = {
  register: 'agents:register',
  query: 'agents:query',
  announce: 'contracts:announce',
} as const satisfies Record<string, Permission>;

export type RootSkill = keyof typeof PERMISSIONS;

export interface SkillCall {
  readonly skill: RootSkill;
  /** The same value as the body of the REST request. */
  readonly input: unknown;
}

/** The skill that sends the message to an agent. A message that names no skill is treated the same way. */
const ROUTE = 'route';
const NAMES = Object.keys(PERMISSIONS);

const Metadata = z.looseObject({ skill: z.unknown().optional() }).optional().catch(undefined);
const Part = z.looseObject({ data: z.unknown().optional() }).catch({});
const MessageSchema = z.looseObject({
  metadata: Metadata,
  parts: z.array(Part).catch([]),
  taskId: z.unknown().optional(),
});
const SentSchema = z.looseObject({ metadata: Metadata, message: MessageSchema });

/**
 * Returns the skill of Rollcall that a message names. If the metadata names it, the first data part is the input. Otherwise, a data
 * part `{"skill", "input"}` contains both. `request` may be invalid.
 */
export function skillIn(request: unknown): SkillCall | undefined {
  const { data: sent } = SentSchema.safeParse(request);
  if (!sent || sent.message.taskId) return undefined;
  const contents = sent.message.parts.map(({ data }) => data).filter((data) => data !== undefined && data !== null);
  const named = sent.metadata?.skill ?? sent.message.metadata?.skill;
  if (named !== undefined) return named === ROUTE ? undefined : { skill: known(named), input: contents[0] };
  for (const content of contents) {
    const { skill, input } = content as { skill?: unknown; input?: unknown };
    if (isSkill(skill)) return { skill, input };
  }
  return undefined;
}

/** The permission to send a message to this address. */
export function permissionToSend({ agentId, tenant }: Address, request: unknown): Permission {
  const asked = agentId !== undefined || tenant ? undefined : skillIn(request);
  return asked ? PERMISSIONS[asked.skill] : 'runs:start';
}

function isSkill(name: unknown): name is RootSkill {
  return typeof name === 'string' && NAMES.includes(name);
}

function known(name: unknown): RootSkill {
  if (isSkill(name)) return name;
  throw new RequestMalformedError(`metadata.skill must be one of ${[ROUTE, ...NAMES].join(', ')}.`);
}
