import { ProviderError } from '../../errors.js';
import type { ModelProvider, ModelRequest } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';
import { after, callTool, say, type Step } from './script.js';
import { ScriptedModel, type StepFunction } from './scripted.model.js';

const STEP_DELAY_MS = 200;
const MAX_STEPS = 50;
const READ_CLOCK = /Read the clock (\d{1,3}) times?/i;
/** Asks for the earlier messages of the conversation. */
const RECALL = /^What did I say/i;
/** A line such as `Call read_file {"path": "a.txt"}`. */
const CALL = /^Call ([\w-]{1,64}) (\{.*\})$/gm;
const ASK_AGENT = /^Ask ([\w.:-]{1,128}): ([^]+)$/;
/** The tags around the answer of another agent. */
const TAGS = /^<\/?agent_output[^>]*>$/gm;

/** Repeats the last message of the user. */
const ECHO: StepFunction = (request) => repeat(lastUserText(request));

/** Reads the clock as often as the first number in the first message of the user says, with a short pause before each reply. */
const STEPS: StepFunction = ({ messages }) => {
  const first = messages.find((message) => message.role === 'user');
  const wanted = Number(/\d+/.exec(JSON.stringify(first?.content))?.[0] ?? 3);
  return readClock(Math.min(MAX_STEPS, wanted), repliesIn(messages));
};

/**
 * The model of an installation that has configured no model. It follows `Read the clock 3 times`, `Ask AGENT: TASK`, `What did I say?` and lines such as
 * `Call TOOL {"input": "as JSON"}`, and repeats any other message. It needs no network, and the same conversation always gets the same reply.
 */
const DEMO: StepFunction = (request) => {
  const { messages } = request;
  const text = lastUserText(request);
  const times = READ_CLOCK.exec(text)?.[1];
  const [, agent, task] = ASK_AGENT.exec(text) ?? [];
  if (agent !== undefined) return askAgent(agent, task, messages);
  if (RECALL.test(text)) return say(`You said: ${earlierTexts(messages).join(', ') || 'nothing yet'}`);
  const calls = [...text.matchAll(CALL)];
  if (calls.length > 0) return callInOrder(calls, messages.slice(lastUserIndex(messages)));
  if (times === undefined) return repeat(text);
  return readClock(Math.min(MAX_STEPS, Number(times)), repliesIn(messages.slice(lastUserIndex(messages))));
};

function repeat(text: string): Step {
  return say(`You said: ${text}`);
}

function readClock(wanted: number, made: number): Step {
  if (made < wanted) return after(STEP_DELAY_MS, callTool('clock', {}, `clock-${made + 1}`));
  return after(STEP_DELAY_MS, say(`I have read the clock ${wanted} ${wanted === 1 ? 'time' : 'times'}.`));
}

function askAgent(agent: string, task: string | undefined, messages: ModelRequest['messages']): Step {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return callTool('delegate_to_agent', { agent, task }, `ask-${messages.length}`);
  const answer = last.content.map(({ output }) => output.replace(TAGS, '').trim()).join('\n');
  return say(`${agent} answered: ${answer}`);
}

/** Makes one call after the other, and repeats what the tools returned. */
function callInOrder(calls: readonly RegExpExecArray[], messages: ModelRequest['messages']): Step {
  const made = repliesIn(messages);
  const [, name = '', input = ''] = calls[made] ?? [];
  if (made < calls.length) return callTool(name, parsed(input), `call-${made + 1}`);
  const outputs = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  return say(outputs.map(({ output }) => output).join('\n'));
}

/** A tool reports an input that is not an object. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function repliesIn(messages: ModelRequest['messages']): number {
  return messages.filter(({ role }) => role === 'assistant').length;
}

function earlierTexts(messages: ModelRequest['messages']): string[] {
  const said = messages.slice(0, lastUserIndex(messages)).filter((message) => message.role === 'user');
  return said.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')).join(''));
}

function lastUserIndex(messages: ModelRequest['messages']): number {
  return messages.findLastIndex(({ role }) => role === 'user');
}

function lastUserText({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}

/** Offers scripts as models, for tests of a whole installation and for demos without a key. */
export class ScriptedVendor implements ModelVendor {
  readonly name = 'scripted';
  readonly about = 'Scripted answers without a network, for tests and for demos without a key';
  readonly needsKey = false;
  private readonly scripts: Map<string, () => ModelProvider>;

  constructor(scripts: Record<string, () => ModelProvider> = {}) {
    const builtIn = { demo: scriptOf(DEMO, 'demo'), echo: scriptOf(ECHO, 'echo'), steps: scriptOf(STEPS, 'steps') };
    this.scripts = new Map(Object.entries({ ...builtIn, ...scripts }));
  }

  open({ model }: Pick<ModelConnection, 'model'>): ModelProvider {
    const make = this.scripts.get(model);
    if (make) return make();
    const known = [...this.scripts.keys()].toSorted().join(', ');
    throw new ProviderError('MODEL_CHOICE_INVALID', `There is no script ${model}. Known scripts: ${known}.`);
  }
}

function scriptOf(script: StepFunction, name: string): () => ModelProvider {
  return () => new ScriptedModel(script, name);
}
