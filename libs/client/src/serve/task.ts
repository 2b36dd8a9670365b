import type { TakenTaskView, TaskResultBody } from '../generated/schema.js';
import type { Lease } from './agent.lease.js';

/** The answer to a task. `usage` is what the caller is charged. */
export type TaskResult = Omit<TaskResultBody, 'generation'>;

/** A piece of an answer, or what the agent does. */
export type TaskPiece = { text: string } | { progress: string };

/** A task, and what its handler can do besides answering it. */
export interface Task extends TakenTaskView {
  /** Aborted when the answer is not needed any more. */
  readonly signal: AbortSignal;
  /** Reports what the agent does to everybody who follows the run. */
  progress(text: string): void;
  /** Reports a piece of the answer. A result without a text and parts has the text of all pieces. */
  write(text: string): void;
}

type Answer = string | TaskResult | undefined | void;

/** Returns the answer: a text, a result, or nothing if `write` has sent it. An error fails the run with the message of the error. */
export type TaskHandler = (task: Task) => Answer | Promise<Answer>;

/** How an agent receives its work and executes it. */
export interface AgentWork {
  readonly inFlight: number;
  /** Receives work until the signal is aborted or the connection is lost. */
  receive(lease: Lease, signal: AbortSignal): Promise<void>;
  /** Takes what was on its way or waits for the agent, and returns how many tasks there were. */
  takeRest(lease: Lease): Promise<number>;
  /** The registration has ended. */
  onLost(): void;
  cancel(callIds: readonly string[]): void;
  /** Stops all work. */
  abort(): void;
}

const MAX_DETAIL = 4_000;

/** Calls the handler. It never throws. */
export async function execute(
  handle: TaskHandler,
  facts: TakenTaskView,
  { send, signal }: { send: (piece: TaskPiece) => void; signal: AbortSignal },
): Promise<TaskResult> {
  let written = '';
  const progress = (text: string): void => send({ progress: text });
  const write = (text: string): void => {
    written += text;
    send({ text });
  };
  try {
    const answer = await handle({ ...facts, signal, progress, write });
    const result = typeof answer === 'string' ? { text: answer } : (answer ?? {});
    return written === '' || result.text !== undefined || result.parts ? result : { ...result, text: written };
  } catch (error) {
    return { outcome: 'failed', detail: (error instanceof Error ? error.message : String(error)).slice(0, MAX_DETAIL) };
  }
}

const MAX_PIECE = /[^]{1,8000}/gu; // at most 16,000 UTF-16 units

/** Sends the pieces of one task in order. Texts that wait are joined. */
export class TaskPieces {
  private readonly waiting: TaskPiece[] = [];
  private sending: Promise<void> | undefined;

  constructor(private readonly send: (piece: TaskPiece) => Promise<void>) {}

  add(piece: TaskPiece): void {
    const last = this.waiting.at(-1);
    if (last && 'text' in last && 'text' in piece) last.text += piece.text;
    else this.waiting.push({ ...piece });
    this.sending ??= this.sendAll();
  }

  async idle(): Promise<void> {
    await this.sending;
  }

  private async sendAll(): Promise<void> {
    await Promise.resolve(); // joins the pieces that are written now
    for (let piece = this.waiting.shift(); piece; piece = this.waiting.shift()) {
      const [name, text] = 'text' in piece ? ['text', piece.text] : ['progress', piece.progress];
      for (const part of text.match(MAX_PIECE) ?? []) await this.send({ [name]: part } as TaskPiece);
    }
    this.sending = undefined;
  }
}
