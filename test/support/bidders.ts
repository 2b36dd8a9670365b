import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AgentBid, AgentProvider, VendorRegistry } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';

/** A model that delegates a task to the winner of an auction, and repeats the answer of the winner. */
export const AUCTIONEER: Parameters<VendorRegistry['register']>[0] = {
  name: 'auctioneer',
  needsKey: false,
  open: () =>
    new ScriptedModel(({ messages }) => {
      const last = messages.at(-1);
      const task = { capabilities: ['example.build'], prefer: 'contract-net', waitMs: 8_000, task: 'Build the app.' };
      if (last?.role !== 'tool') return callTool('delegate_to_agent', task);
      return say(last.content.map(({ output }) => output).join(''));
    }),
};
/** The methods `bid` of agents by name. All of them fail in some way, except that of `honest`. */
export const ODD_BIDS: Record<string, () => Promise<AgentBid>> = {
  throws: async () => await Promise.reject(new Error('no idea')),
  negative: async () => await Promise.resolve({ price: -1, etaMs: 1, confidence: 1 }),
  hangs: async () => await new Promise(() => undefined),
  honest: async () => await Promise.resolve({ price: 5, etaMs: 1, confidence: 1 }),
};
export const ODD_PROVIDER: AgentProvider = {
  name: 'odd',
  agentType: 'in-process',
  createAgent: async ({ name }) =>
    await Promise.resolve({
      name,
      agentType: 'in-process',
      state: 'idle',
      bid: ODD_BIDS[name],
      lost: () => {
        throw new Error('not interested');
      },
      handle: () => {
        throw new Error('not called');
      },
      shutdown: async () => await Promise.resolve(),
    }),
};

/** An endpoint of an agent. It passes each notice about a contract to `accept`. */
export async function endpoint(accept: (notice: Record<string, unknown>) => void): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isNotice = request.headers['content-type'] === 'application/vnd.rollcall.contract+json';
      if (isNotice) accept(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
      response.writeHead(isNotice ? 204 : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
