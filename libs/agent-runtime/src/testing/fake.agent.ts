import {
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type AgentUsage,
  type ContentPart,
  type HandleOptions,
  ProviderError,
  textOfParts,
  textPart,
} from '#rollcall/providers';

type Behaviour = (text: string, options: HandleOptions) => AsyncGenerator<AgentEvent>;

/** An agent with the behaviour that a test defines. It records its calls. */
export class FakeAgent implements Agent {
  readonly calls: { text: string; message: AgentMessage; options: HandleOptions }[] = [];
  isShutDown = false;

  constructor(
    readonly name: string,
    private readonly behaviour: Behaviour = () => answers('done'),
    readonly agentType: Agent['agentType'] = 'in-process',
  ) {}

  get state(): Agent['state'] {
    return this.isShutDown ? 'closed' : 'idle';
  }

  handle(message: AgentMessage, options: HandleOptions = {}): AsyncGenerator<AgentEvent> {
    const text = textOfParts(message.parts);
    this.calls.push({ text, message, options });
    return this.behaviour(text, options);
  }

  async shutdown(): Promise<void> {
    this.isShutDown = true;
  }
}

const NO_USAGE: AgentUsage = {};

/** Ends with this result. */
export async function* ends(result: Partial<AgentResult>): AsyncGenerator<AgentEvent> {
  const all = { outcome: 'completed', parts: [], usage: NO_USAGE, ...result } as AgentResult;
  yield { type: 'finished', result: all };
}

export function answers(text: string, usage = NO_USAGE, ...more: ContentPart[]): AsyncGenerator<AgentEvent> {
  return ends({ parts: [textPart(text), ...more], usage });
}

export async function* fails(text: string): AsyncGenerator<AgentEvent> {
  yield { type: 'progress', text: 'working' };
  throw new ProviderError('AGENT_FAILED', text);
}

/** Ends only when it is aborted. */
export async function* hangs({ signal }: HandleOptions): AsyncGenerator<AgentEvent> {
  yield { type: 'progress', text: 'working' };
  await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
  throw new Error('aborted');
}

/** Ignores its signal. */
export async function* neverEnds(): AsyncGenerator<AgentEvent> {
  yield { type: 'progress', text: 'working' };
  await new Promise<void>(() => undefined);
}
