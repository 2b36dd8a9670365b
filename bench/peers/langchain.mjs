import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, createAgent, tool } from 'langchain';
import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from '../../dist/bench/support/loop.side.js';

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

/** Not `fakeModel()` of the testing kit: it keeps all requests, and its fixed list of answers cannot serve concurrent runs. */
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

await serveSide((forecast) => {
  const agent = createAgent({
    model: new InstantModel({}),
    systemPrompt: INSTRUCTIONS,
    tools: [tool((input) => forecast(input), { ...TOOL, schema: Input })],
  });
  return async () => {
    const { messages } = await agent.invoke(
      { messages: [{ role: 'user', content: QUESTION }] },
      { recursionLimit: 100 },
    );
    return messages.at(-1).text;
  };
});
