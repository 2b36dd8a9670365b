import { setTimeout as delay } from 'node:timers/promises';
import type { Rollcall, RunStepView, RunTreeView, RunView, WatchedMessage } from '#rollcall/client';
import type { Session } from '../command.js';
import { EXIT, type ExitCode } from '../failure.js';
import { LiveBlock } from '../output/live.block.js';
import { cut, oneLine } from '../output/text.js';
import type { View } from '../output/view.js';
import { lastLines, treeLines } from './run.tree.js';

const TEXT_LINES = 4;
const TREE_EVERY_MS = 500;

/** Shows a run while it is executed, and prints its answer. It ends when the run is finished or waits for a person. */
export class RunWatcher {
  private readonly block: LiveBlock | undefined;
  private readonly columns: number;
  private tree: RunTreeView | undefined;
  private answer = '';
  private last = '';

  constructor(
    private readonly session: Session,
    private readonly client: Rollcall,
    private readonly view: View<RunView>,
  ) {
    const { io, output } = session;
    this.block = output.isText && io.stderr.isTTY === true ? new LiveBlock(io) : undefined;
    this.columns = io.stderr.columns ?? 80;
  }

  async watch(id: string): Promise<ExitCode> {
    const { output } = this.session;
    if (output.format === 'jsonl') return await this.printMessages(id);
    let run: RunView | undefined;
    const ended = new AbortController();
    const drawing = this.drawTree(id, ended.signal);
    try {
      for await (const message of this.messages(id)) {
        this.show(message);
        if (message.event === 'state') run = message.data;
      }
    } finally {
      ended.abort();
      await drawing;
      this.block?.end();
      if (this.session.io.signal.aborted) output.note(`The run continues: rollcall runs watch ${id}`);
    }
    run ??= await this.client.runs.get(id, {});
    await this.printResult(run);
    return exitCodeOf(run);
  }

  /** Each message is a line, so that a program can follow the run. */
  private async printMessages(id: string): Promise<ExitCode> {
    let run: RunView | undefined;
    const noted = async function* (messages: AsyncIterable<WatchedMessage>): AsyncGenerator<WatchedMessage, void> {
      for await (const message of messages) {
        if (message.event === 'state') run = message.data;
        yield message;
      }
    };
    const view = { plural: 'messages', name: () => id, columns: [] };
    await this.session.output.stream(view, noted(this.messages(id)));
    return exitCodeOf(run ?? (await this.client.runs.get(id, {})));
  }

  private async *messages(id: string): AsyncGenerator<WatchedMessage, void> {
    const { signal } = this.session.io;
    const onReconnect = ({ message }: Error): void => this.note(`Reconnecting: ${message}`);
    await this.client.runs.get(id, {}); // fails at once if the server is away; a connection that is lost later is opened again
    for await (const message of this.client.runs.watch(id, { signal, onReconnect })) {
      yield message;
      if (message.event === 'state' && message.data.state === 'waiting') return;
    }
  }

  /** The tree also changes while this run only waits for the runs that it delegated. */
  private async drawTree(id: string, signal: AbortSignal): Promise<void> {
    while (this.block && !signal.aborted) {
      this.tree = await this.client.runs.getTree(id, { signal }).catch(() => this.tree); // `messages` reports a server that is away
      this.block.show(() => this.liveLines());
      await delay(TREE_EVERY_MS, undefined, { signal }).catch(() => {}); // ends early with the run
    }
  }

  private show(message: WatchedMessage): void {
    if (!this.session.output.isText) return;
    if (message.event === 'step') {
      this.last = oneLine(stepText(message.data));
      if (message.data.type === 'model-replied') this.answer = '';
      this.note(`${message.data.at.slice(11, 19)} ${this.last}`);
    } else if (message.event === 'text') this.answer += message.data.text;
    else if (message.event === 'progress') this.note(oneLine(message.data.text));
    this.block?.show(() => this.liveLines());
  }

  private liveLines(): readonly string[] {
    const tree = this.tree === undefined ? [] : treeLines(this.tree, Date.now());
    return [...tree, ...lastLines(this.answer, TEXT_LINES, this.columns)];
  }

  private note(line: string): void {
    const { output } = this.session;
    if (this.block) this.block.print(() => output.note(cut(line, this.columns - 1)));
    else output.note(line);
  }

  private async printResult(run: RunView): Promise<void> {
    const { output } = this.session;
    if (!output.isText) return await output.item(this.view, run);
    const tree = await this.client.runs.getTree(run.id);
    for (const line of treeLines(tree, Date.now())) output.note(line);
    for (const part of run.result?.parts ?? [])
      output.text(`${part.type === 'text' ? part.text : JSON.stringify(part)}\n`);
    for (const line of adviceFor(run)) output.note(line);
  }
}

function exitCodeOf({ state }: RunView): ExitCode {
  if (state === 'waiting') return EXIT.notNow;
  return state === 'completed' ? EXIT.done : EXIT.failed;
}

function adviceFor({ id, state, waitingFor, result }: RunView): string[] {
  if (waitingFor === 'input') return [`The run waits for your answer: rollcall runs reply ${id} "…"`];
  if (state === 'waiting') {
    const calls = (result?.approvals ?? []).map(
      ({ tool, input }) => `  ${tool} ${oneLine(JSON.stringify(input))}  rollcall approve ${id}`,
    );
    return [`The run waits for a decision (${waitingFor}).`, ...calls];
  }
  const why = result?.error
    ? `${result.error.code}: ${result.error.message}`
    : [result?.reason, result?.detail].filter(Boolean).join(': ');
  return state === 'completed'
    ? []
    : [`The run ${OUTCOMES[state] ?? `is ${state}`}${why === '' ? '' : `: ${why.replace(/\.$/, '')}`}.`];
}

const OUTCOMES: Partial<Record<RunView['state'], string>> = {
  failed: 'has failed',
  stopped: 'was stopped',
  refused: 'was refused',
  cancelled: 'was cancelled',
};

/** What happened in a step, in a few words. */
export function stepText({ step }: Pick<RunStepView, 'step'>): string {
  switch (step.type) {
    case 'message':
      return `message: ${step.parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ')}`;
    case 'message-received':
      return 'message received';
    case 'model-replied':
      return `model: ${replyText(step.reply)}`;
    case 'tool-called':
      return `tool ${step.call.name} ${JSON.stringify(step.call.input)}`;
    case 'tool-finished':
      return `${step.failed === true ? 'tool failed' : 'tool finished'}: ${step.name} → ${step.output}`;
    case 'approval-decided':
      return `${step.approved ? 'approved' : 'rejected'}: ${step.callId}${step.reason === undefined ? '' : ` (${step.reason})`}`;
    case 'finished':
      return `finished: ${step.result.outcome}${step.result.reason === undefined ? '' : ` (${step.result.reason})`}`;
    case 'context-summarised':
      return 'the conversation was summarised';
    case 'agent-called':
      return 'the agent was called';
    case 'agent-accepted':
      return 'the agent has accepted the task';
    case 'authorization':
    case 'tool-call':
    case 'tool-result':
      return step.type;
  }
}

function replyText({ content, usage }: Extract<RunStepView['step'], { type: 'model-replied' }>['reply']): string {
  const parts = content.map((part) =>
    part.type === 'tool-call' ? `calls ${part.name}` : part.type === 'text' ? part.text : 'thinks',
  );
  return `${parts.join(' ')} (${(usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)} tokens)`;
}
