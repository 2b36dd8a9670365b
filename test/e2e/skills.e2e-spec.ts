import { type TestApi, startApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_SKILLS_DIR: 'examples/skills' });
});
afterAll(async () => await api.stop());

describe('/v1/skills', () => {
  it('S2.7 lists the skills of the configured folders', async () => {
    const { status, body } = await api.call('GET', '/v1/skills');
    expect(status).toBe(200);
    expect(body).toEqual({
      items: [
        {
          name: 'release-notes',
          description: 'Writes release notes from a list of commits. Use it when a version is published.',
          tokens: expect.any(Number) as number,
        },
      ],
      diagnostics: [],
    });
  });

  it('S2.7 returns a skill with its text, its files and other fields', async () => {
    const { body } = await api.call('GET', '/v1/skills/release-notes');
    expect(body).toMatchObject({ files: ['references/format.md'], metadata: { license: 'Apache-2.0' } });
    expect(body).toMatchObject({
      body: expect.stringContaining('1. Read the commits since the last version.') as string,
    });
    expect(JSON.stringify(body)).not.toContain(process.cwd());
  });

  it('S2.7 rejects an unknown skill with the names of the known ones', async () => {
    const { status, body } = await api.call('GET', '/v1/skills/absent');
    expect(status).toBe(404);
    expect(body).toMatchObject({
      code: 'SKILL_NOT_FOUND',
      detail: 'There is no skill "absent". Loaded skills: release-notes.',
    });
  });
});
