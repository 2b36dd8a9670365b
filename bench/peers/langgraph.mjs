import { randomUUID } from 'node:crypto';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { AIMessage, createAgent, tool } from 'langchain';
import pg from 'pg';
import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from '../../dist/bench/support/loop.side.js';

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

/** The model of langchain.mjs. */
class InstantModel extends BaseChatModel {
  _llmType() {
    return 'instant';
  }

  bindTools(tools) {
    return this.withConfig({ tools });
  }

  async _generate(messages) {
    const call = (messages.length - 2) / 2;
    const message = new AIMessage(
      call === CALLS
        ? { content: ANSWER }
        : {
            content: '',
            tool_calls: [{ type: 'tool_call', id: `call-${call}`, name: TOOL.name, args: inputOf(call) }],
          },
    );
    return { generations: [{ text: message.text, message }] };
  }
}

const { BENCH_DATABASE_URL: connectionString, BENCH_POOL_SIZE = '20' } = process.env;
const pool = new pg.Pool({ connectionString, max: Number(BENCH_POOL_SIZE) });
pool.on('error', () => undefined); // the server stops before the last idle connection is closed
const checkpointer = new PostgresSaver(pool);
await checkpointer.setup();

/** With `sync`, each checkpoint is stored before the next step begins. */
await serveSide((forecast) => {
  const agent = createAgent({
    model: new InstantModel({}),
    systemPrompt: INSTRUCTIONS,
    tools: [tool((input) => forecast(input), { ...TOOL, schema: Input })],
    checkpointer,
  });
  return async () => {
    const { messages } = await agent.invoke(
      { messages: [{ role: 'user', content: QUESTION }] },
      { recursionLimit: 100, durability: 'sync', configurable: { thread_id: randomUUID() } },
    );
    return messages.at(-1).text;
  };
});
