import type { AgentUsage } from '../agents/agent.js';

/** What a fake remote agent does. The fakes receive it as the text of the message. */
export type AgentScenario =
  | { does: 'answer'; pieces: string[]; usage?: AgentUsage }
  | { does: 'fail'; message: string }
  /** Starts a response and never ends it. */
  | { does: 'hang'; pieces: string[] }
  /** Starts a response and crashes. */
  | { does: 'crash'; pieces: string[] };
