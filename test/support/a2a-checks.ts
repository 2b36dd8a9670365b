import type { Binding } from './a2a-client.js';
import { A2aWire, type Json, type WireAnswer } from './a2a-wire.js';

/** A task as it is on the wire. */
export interface TaskJson {
  id: string;
  contextId: string;
  status: { state: string; timestamp: string; message?: Json };
  artifacts?: { artifactId: string; parts: Json[] }[];
  history?: { messageId: string; role: string; parts: Json[] }[];
}

const ERRORS: Record<string, Record<Binding, number>> = {
  TASK_NOT_FOUND: { JSONRPC: -32_001, 'HTTP+JSON': 404 },
  TASK_NOT_CANCELABLE: { JSONRPC: -32_002, 'HTTP+JSON': 400 },
  UNSUPPORTED_OPERATION: { JSONRPC: -32_004, 'HTTP+JSON': 400 },
  CONTENT_TYPE_NOT_SUPPORTED: { JSONRPC: -32_005, 'HTTP+JSON': 400 },
  VERSION_NOT_SUPPORTED: { JSONRPC: -32_009, 'HTTP+JSON': 400 },
  INVALID_PARAMS: { JSONRPC: -32_602, 'HTTP+JSON': 400 },
};

export const message = (more: Json = {}): Json => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text: 'Hello.' }],
  ...more,
});
export const taskOf = ({ result }: WireAnswer): TaskJson => (result?.['task'] ?? result) as TaskJson;
/** The state of each event; for an event without a state, its name. */
export const statesOf = (events: readonly Json[]): string[] =>
  events.map((event) => {
    const { task, statusUpdate } = event as { task?: TaskJson; statusUpdate?: { status: { state: string } } };
    return (task ?? statusUpdate)?.status.state ?? Object.keys(event).join();
  });

/** Sends requests to three test agents over one binding, and checks errors. */
export class A2aChecks {
  readonly echo: A2aWire;
  readonly asker: A2aWire;
  readonly talker: A2aWire;

  constructor(
    readonly binding: Binding,
    url: string,
    key: string,
  ) {
    const wire = (agent: string): A2aWire => new A2aWire(binding, `${url}/a2a/agents/${agent}`, key);
    [this.echo, this.asker, this.talker] = [wire('echo'), wire('asker'), wire('talker')];
  }

  async completed(more: Json = {}): Promise<TaskJson> {
    return taskOf(await this.echo.call('SendMessage', { message: message(more) }));
  }

  /** A task that waits for an answer. */
  async interrupted(configuration: Json = {}): Promise<TaskJson> {
    return taskOf(await this.asker.call('SendMessage', { message: message(), configuration }));
  }

  fails(answer: WireAnswer, reason: string): void {
    const { code, message: text, info } = answer.error ?? { code: 0, message: '' };
    expect({ code, info }).toMatchObject({
      code: ERRORS[reason]?.[this.binding],
      info: { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' },
    });
    expect(text).not.toBe('');
  }
}
