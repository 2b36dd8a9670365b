import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from './loop.side.js';

/** The upper bound: model and tool in a loop, with validated input, and nothing else. */
type Message =
  | { role: 'system' | 'user' | 'assistant'; text: string }
  | { role: 'call'; id: string; name: string; input: unknown }
  | { role: 'result'; id: string; text: string };

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

async function model(messages: readonly Message[]): Promise<Message> {
  const call = (messages.length - 2) / 2;
  if (call === CALLS) return { role: 'assistant', text: ANSWER };
  return { role: 'call', id: `call-${call}`, name: TOOL.name, input: inputOf(call) };
}

await serveSide((forecast) => async () => {
  const messages: Message[] = [
    { role: 'system', text: INSTRUCTIONS },
    { role: 'user', text: QUESTION },
  ];
  for (;;) {
    const reply = await model(messages);
    if (reply.role !== 'call') return reply.role === 'assistant' ? reply.text : '';
    messages.push(reply, { role: 'result', id: reply.id, text: await forecast(Input.parse(reply.input)) });
  }
});
