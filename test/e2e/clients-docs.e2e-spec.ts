import { startApi, type TestApi } from '../support/api.js';
import { exampleOf } from '../support/doc-example.js';
import { ClientProject } from '../support/typed-client.js';

let api: TestApi;
let project: ClientProject;

beforeAll(async () => {
  api = await startApi();
  project = new ClientProject();
});
afterAll(async () => {
  project.remove();
  await api.stop();
});

describe('the TypeScript client of docs/clients.md', () => {
  it('the client is generated from the OpenAPI document, compiles in strict mode with the example, and works', async () => {
    expect(await project.generate(`${api.url}/openapi.json`)).toMatch(/^The client is in .*rollcall\.\n$/);
    expect(await project.compile(exampleOf('clients.md', 'ts'))).toBe('');
    const output = await project.start({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey });
    expect(output.replaceAll(/swarm-builder-\w+/g, '<agent>').split('\n')).toEqual([
      expect.stringMatching(/^next heartbeat in \d+ ms$/),
      expect.stringMatching(/^best candidate: <agent>, /),
      'settled: 1500 tokens',
      'The budget does not allow this',
      expect.stringMatching(/^agent\.joined.*; continue after \d+-[0-9a-f]{8}$/),
      '1 agent.joined <agent>',
      '',
    ]);
  }, 180_000);

  it('rejects a program that misspells a field', async () => {
    const misspelled = exampleOf('clients.md', 'ts').replace(
      "capabilities: ['build'], costModel",
      "capabilites: ['build'], costModel",
    );
    expect(await project.compile(misspelled)).toMatch(/^program\.ts\(\d+,\d+\): error .*capabilites/);
  }, 180_000);

  it('reports a document that cannot be read', async () => {
    expect(await project.generate(`${api.url}/v1/me`)).toContain('status 401');
  });
});
