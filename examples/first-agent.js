// @ts-check
/** The agent of docs/tutorial.md: it greets. In a project of yours, import from 'rollcall-client' (docs/clients.md). Needs Node 20 or newer. */
import { rollcallClient } from '#rollcall/client';

const { ROLLCALL_URL: url = 'http://127.0.0.1:8080', ROLLCALL_KEY: credential = '', AGENT = 'greeter-1' } = process.env;

const agent = await rollcallClient({ url, credential }).serve({
  agentId: AGENT,
  name: 'greeter',
  capabilities: ['greet'],
  costModel: { usdPerTask: 0.01 },
  handle: ({ text }) => `Hello, ${text}!`,
});
console.log(`${AGENT} is registered`);
console.log(`${AGENT} has left: ${await agent.done}`);
