import type { AgentUsage } from '../agents/agent.js';

/** What the other side is made to do, in our words. Obedient agents get it as the text of their message. */
export type AgentScenario =
  | { does: 'answer'; pieces: string[]; usage?: AgentUsage }
  | { does: 'fail'; message: string }
  /** Starts an answer and never goes on. */
  | { does: 'hang'; pieces: string[] }
  /** Starts an answer and is gone. */
  | { does: 'crash'; pieces: string[] };
