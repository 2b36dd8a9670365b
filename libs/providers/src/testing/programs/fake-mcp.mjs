/**
 * A fake MCP server over standard input and output. Arguments: `modern`, which supports both protocols, `old`, which
 * supports the protocol of 2025 and ends when it receives anything else first, or `silent`, which answers nothing. An optional
 * second argument is the number of milliseconds that it needs to start.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [, , kind = 'modern', startMs = '0'] = process.argv;
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const tools = {
  echo: (input) => text(JSON.stringify(input)),
  env: () => text(JSON.stringify(process.env)),
  pid: () => text(process.pid),
  child: () => text(spawn('sleep', ['60'], { stdio: 'ignore' }).pid),
  crash: () => process.exit(3),
  complain: () => {
    process.stderr.write(`bad key ${process.env.PROGRAM_KEY}`);
    process.exit(4);
  },
  hang: async () => await new Promise(() => undefined),
  huge: () => text('x'.repeat(100_000_000)),
  fail: () => ({ ...text('out of paper'), isError: true }),
};

function createServer() {
  const mcp = new McpServer({ name: 'fake', version: '1' }, { capabilities: { tools: {} } });
  const { server } = mcp;
  server.setRequestHandler('tools/list', () => ({
    tools: Object.keys(tools).map((name) => ({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } })),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => await tools[params.name](params.arguments));
  return mcp;
}

await delay(Number(startMs));
process.stdout.write('a line of a log\n');
if (kind === 'modern') serveStdio(createServer);
if (kind === 'silent') process.stdin.resume();
if (kind === 'old') serveOld();

function serveOld() {
  const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let started = false;
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize') {
      started = true;
      const { protocolVersion } = params;
      write({
        id,
        result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
      });
    } else if (!started) process.exit(1);
    else if (method === 'tools/list')
      write({ id, result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } });
    else if (method === 'tools/call') write({ id, result: tools[params.name](params.arguments) });
  });
}
