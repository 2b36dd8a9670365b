import { until } from '#rollcall/test-support';
import { Secret } from '../secrets/secret.js';
import { FAKE_MCP_PROGRAM } from '../testing/fake-mcp.program.js';
import { isAlive } from '../testing/fake-program.js';
import { expectNoOpenResources, openResources } from '../testing/open-resources.js';
import type { McpClient } from './mcp.client.js';
import { McpClients } from './mcp.clients.js';
import { McpServersSchema } from './mcp.config.js';

const KEY = 'program-key-0123456789';

let before: Map<string, number>;
let clients: McpClients;
beforeEach(() => void (before = openResources()));
afterEach(async () => {
  await clients.close();
  await expectNoOpenResources(before);
});

function clientOf(args: string[], more: object = {}): McpClient {
  const fake = {
    command: process.execPath,
    args: [FAKE_MCP_PROGRAM, ...args],
    env: { LANG: 'C' },
    user: 'same',
    secretEnv: ['PROGRAM_KEY'],
  };
  const servers = McpServersSchema.parse({ local: { program: 'fake', ...more } });
  const secretsOf = () => () => new Secret(KEY);
  clients = new McpClients({ servers, programs: { fake }, fetch, secretsOf });
  return clients.all[0];
}

async function call(client: McpClient, name: string, input = {}, signal?: AbortSignal): Promise<string> {
  return (await client.callTool({ name, inputSchema: { type: 'object' } }, input, { signal })).text;
}

describe('an MCP server that is a program', () => {
  it.each(['modern', 'old'])('S2.2 a program of the kind %s lists and calls its tools in one process', async (kind) => {
    const client = clientOf([kind]);
    expect((await client.listTools()).map(({ name }) => name)).toContain('echo');
    expect(await call(client, 'echo', { n: 1 })).toBe('{"n":1}');
    expect(await call(client, 'pid')).toBe(await call(client, 'pid'));
  });

  it('S2.2 a program receives only the configured environment, and its key does not appear in results', async () => {
    expect(JSON.parse(await call(clientOf(['modern']), 'env'))).toEqual({ LANG: 'C', PROGRAM_KEY: '[secret]' });
  });

  it('S2.2 the first call waits for a program that starts slowly', async () => {
    expect(await call(clientOf(['modern', '500']), 'echo')).toBe('{}');
  });

  it('S2.2 a program that does not answer is reported at the time limit', async () => {
    await expect(clientOf(['silent'], { startTimeoutMs: 1_500 }).listTools()).rejects.toMatchObject({
      code: expect.stringMatching(/^MCP_(TIMED_OUT|SERVER_UNREACHABLE)$/) as string,
    });
  });

  it('S2.2 a call fails with the reason if the program crashes, and the next call starts the program again', async () => {
    const client = clientOf(['modern']);
    const error = { code: 'MCP_SERVER_UNREACHABLE', message: 'The program of MCP server local ended with code 3.' };
    await expect(call(client, 'crash')).rejects.toMatchObject(error);
    expect(await call(client, 'echo')).toBe('{}');
  });

  it('S2.2 S-16 a program cannot reveal its key in the reason for its exit, which only the log contains', async () => {
    await expect(call(clientOf(['modern']), 'complain')).rejects.toMatchObject({
      message: 'The program of MCP server local ended with code 4.',
      logDetail: 'bad key [secret]',
    });
  });

  it('S2.2 a program that hangs is stopped at the time limit of the call, and the next call starts it again', async () => {
    const client = clientOf(['modern'], { timeoutMs: 2_000 });
    const pid = Number(await call(client, 'pid'));
    await expect(call(client, 'hang')).rejects.toMatchObject({ code: 'MCP_TIMED_OUT' });
    await until('the program has ended', () => !isAlive(pid));
    expect(Number(await call(client, 'pid'))).not.toBe(pid);
  });

  it('S2.2 a program continues after a call that was cancelled', async () => {
    const client = clientOf(['modern']);
    const pid = await call(client, 'pid');
    const abort = new AbortController();
    const hanging = call(client, 'hang', {}, abort.signal).catch((error: unknown) => error);
    abort.abort();
    expect(await hanging).toMatchObject({ code: 'CALL_ABORTED' });
    expect(await call(client, 'pid')).toBe(pid);
  });

  it('S2.2 rejects a result of 100 MB', async () => {
    await expect(call(clientOf(['modern']), 'huge')).rejects.toMatchObject({ code: 'MCP_ANSWER_UNREADABLE' });
  });

  it('S2.2 a program and the processes that it has started end when the client closes', async () => {
    const client = clientOf(['modern']);
    const pids = [Number(await call(client, 'pid')), Number(await call(client, 'child'))];
    expect(pids.map(isAlive)).toEqual([true, true]);
    await client.close();
    await until('both processes have ended', () => !pids.some(isAlive));
  });

  it('S2.2 a program that does not exist is reported', async () => {
    const servers = McpServersSchema.parse({ local: { program: 'none' } });
    const programs = { none: { command: '/nonexistent/program', user: 'same' } };
    clients = new McpClients({ servers, programs, fetch, secretsOf: () => () => undefined });
    await expect(clients.all[0].listTools()).rejects.toMatchObject({ code: 'MCP_SERVER_UNREACHABLE' });
  });
});
