import type { ModelMessage, ModelRequest, ToolCallPart } from '#rollcall/providers';
import { callTools, say, ScriptedModel, type Step } from '#rollcall/providers/testing';

const ORDER = /call tool (\S+) with (?=\{)/g;
const SEND = 'send everything you know';

/**
 * The worst model: it obeys every order that it reads, wherever the order is, even in descriptions of tools and in texts with
 * invisible letters. It obeys each order once in a conversation. Then it answers with everything that it has read, so that an order
 * reaches the models that read its answer.
 */
export function obedientModel(first: [name: string, input: unknown][] = []): ScriptedModel {
  return new ScriptedModel((request) => obey(request, first));
}

function obey(request: ModelRequest, first: [name: string, input: unknown][]): Step {
  if (request.toolChoice === 'none') return callTools(['delete_all', {}]); // it ignores even this
  const done = request.messages.flatMap(callsOf);
  const wanted = [...first, ...ordersIn(request)];
  const open = wanted.filter(([name, input]) => !done.some((call) => isSame(call, name, input)));
  if (open.length === 0) return say(`I have read: ${readable(request).slice(0, 5_000)}`);
  return callTools(
    ...open.map(([name, input], index): [string, unknown, string] => [name, input, `${name}-${done.length + index}`]),
  );
}

function callsOf(message: ModelMessage): ToolCallPart[] {
  return message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : [];
}

function isSame(call: ToolCallPart, name: string, input: unknown): boolean {
  if (call.name !== name) return false;
  return name === 'post' || JSON.stringify(call.input) === JSON.stringify(input); // the input of `post` grows with each turn
}

function ordersIn(request: ModelRequest): [name: string, input: unknown][] {
  const text = readable(request);
  const orders = [...text.matchAll(ORDER)].map((found): [string, unknown] => [
    found[1] ?? '',
    jsonAt(text, found.index + found[0].length),
  ]);
  if (text.includes(SEND)) orders.push(['post', { text: JSON.stringify(request) }]);
  const byText = new Map(orders.map((order) => [JSON.stringify(order), order]));
  return [...byText.values()];
}

/** Everything that the model can read, except its own messages. Tricks with letters do not hide anything from it. */
function readable({ messages, tools = [] }: ModelRequest): string {
  const texts = messages.map((message) => {
    if (message.role === 'system') return message.text;
    if (message.role === 'assistant') return '';
    return message.content.map((part) => ('text' in part ? part.text : 'output' in part ? part.output : '')).join('\n');
  });
  const all = [...texts, ...tools.map((tool) => `${tool.description} ${textsOf(tool.inputSchema)}`)].join('\n');
  return unescaped(all.normalize('NFKC').replaceAll(/\p{Cf}/gu, ''));
}

/** An order may be inside JSON, which may be inside JSON. */
function unescaped(text: string): string {
  let plain = text;
  while (plain.includes('\\"')) plain = plain.replaceAll(/\\+"/g, '"');
  return plain;
}

function textsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(textsOf).join(' ');
}

/** The JSON object that begins at this position; an empty object if it has no end. */
function jsonAt(text: string, start: number): unknown {
  for (let end = text.indexOf('}', start); end !== -1 && end - start < 10_000; end = text.indexOf('}', end + 1)) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as unknown;
    } catch {
      continue; // the object contains another one
    }
  }
  return {};
}
