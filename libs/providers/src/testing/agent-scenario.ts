import type { AgentUsage, ArtifactChunk } from '../agents/agent.js';

/** What a fake remote agent does. The fakes receive it as the text of the message. */
export type AgentScenario =
  | { does: 'answer'; pieces: string[]; usage?: AgentUsage }
  | { does: 'fail'; message: string }
  /** Starts a response and never ends it. */
  | { does: 'hang'; pieces: string[] }
  /** Starts a response and crashes. */
  | { does: 'crash'; pieces: string[] }
  /** Answers with the parts of the message that follow the text. */
  | { does: 'echo' }
  /** Answers with artifacts. */
  | { does: 'produce'; chunks: ArtifactChunk[] }
  /** Answers with the context that it received, as data. */
  | { does: 'show context' }
  | { does: 'refuse'; message: string; usage?: AgentUsage }
  /** Starts a response and stops at a limit. */
  | { does: 'stop'; pieces: string[]; reason: string; detail: string; usage?: AgentUsage };
