import type { Agent, AgentEvent, AgentMessage, AgentResult, AgentType, HandleOptions } from '../agents/agent.js';
import { message } from '../agents/content.part.js';
import { ProviderError } from '../errors.js';
import type { AgentScenario } from './agent-scenario.js';

/** An agent under test, and the fake remote side that it calls. */
export interface AgentContractSubject {
  agent: Agent;
  /** Prepares the remote side, and returns the message text that triggers the scenario. */
  play(scenario: AgentScenario): string;
  /** The number of calls that the remote side has started. */
  begunCalls(): number | Promise<number>;
  /** The number of calls that the remote side is still working on. */
  busyCalls(): number | Promise<number>;
  /** Stops the remote side. Resources that are open after that belong to the agent. */
  close(): Promise<void>;
}

const FEATURES = ['streaming', 'usage', 'parts', 'artifacts', 'refusals', 'stops', 'context'] as const;

/**
 * Features that some kinds of agents lack. `streaming`: text arrives before the result. `usage`: the remote side can report its usage.
 * `parts`: messages and answers can contain JSON data and files. `artifacts`: answers can contain artifacts. `refusals`, `stops`:
 * the remote side can report that it refused a message or reached a limit. `context`: the remote side receives the run that the
 * call belongs to.
 */
export type AgentFeature = (typeof FEATURES)[number];

export interface AgentContractOptions {
  agentType: AgentType;
  make(name: string): Promise<AgentContractSubject>;
  /** All features by default. */
  supports?: readonly AgentFeature[];
  /** Whether messages can contain files although answers cannot. */
  readsFiles?: boolean;
  /** The codes of failures, if the agent reports other codes than remote agents. */
  failureCodes?: { fails: readonly string[]; crashes: readonly string[] };
}

export function featuresOf({ supports = FEATURES }: AgentContractOptions): ReadonlySet<AgentFeature> {
  return new Set(supports);
}

/** All features except these. */
export function allExcept(...missing: AgentFeature[]): AgentFeature[] {
  return FEATURES.filter((feature) => !missing.includes(feature));
}

export async function callAgent(
  subject: AgentContractSubject,
  scenario: AgentScenario,
  options?: HandleOptions,
): Promise<AgentEvent[]> {
  return await sendMessage(subject, message(subject.play(scenario)), options);
}

export async function sendMessage(
  { agent }: AgentContractSubject,
  sent: AgentMessage,
  options?: HandleOptions,
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.handle(sent, options)) events.push(event);
  return events;
}

export async function failure(work: Promise<unknown>): Promise<ProviderError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProviderError);
  return error as ProviderError;
}

/** Returns the result, which must be the only one and the last event. */
export function resultOf(events: AgentEvent[]): AgentResult {
  const ends = events.filter((event) => event.type === 'finished');
  expect(ends).toHaveLength(1);
  expect(events.at(-1)).toBe(ends[0]);
  return ends[0].result;
}
