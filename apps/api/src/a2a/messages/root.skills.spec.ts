import { permissionToSend, skillIn } from './root.skills.js';

const sent = (parts: unknown, more: object = {}): object => ({ message: { messageId: 'm', parts, ...more } });

describe('the skill that a message names', () => {
  it('S3.12 reads the skill and its input from a data part', () => {
    expect(skillIn(sent([{ text: 'a' }, { data: { skill: 'query', input: { limit: 1 } } }]))).toEqual({
      skill: 'query',
      input: { limit: 1 },
    });
    expect(skillIn(sent([{ data: { skill: 'announce' } }]))).toEqual({ skill: 'announce', input: undefined });
  });

  it('S3.12 reads the skill from the metadata, and its input from the first data part', () => {
    const parts = [{ text: 'a' }, { data: { limit: 1 } }];
    expect(skillIn({ ...sent(parts), metadata: { skill: 'query' } })).toEqual({ skill: 'query', input: { limit: 1 } });
    expect(skillIn(sent(parts, { metadata: { skill: 'register' } }))).toMatchObject({ skill: 'register' });
    expect(skillIn(sent(parts, { metadata: { skill: 'route' } }))).toBeUndefined();
    expect(() => skillIn(sent(parts, { metadata: { skill: 'fly' } }))).toThrow('register, query, announce');
  });

  it.each([
    [undefined],
    [{}],
    [sent('text')],
    [sent([null, 5, { data: null }, { data: 'query' }])],
    [sent([{ data: { skill: 'fly' } }])],
    [sent([{ data: { skill: 'query' } }], { taskId: 't' })],
    [sent([{ data: { skill: 'constructor' } }])],
  ])('S3.12 finds no skill in %j', (request) => {
    expect(skillIn(request)).toBeUndefined();
    expect(permissionToSend({}, request)).toBe('runs:start');
  });

  it('S3.12 a skill decides the permission only if the message addresses Rollcall itself', () => {
    const request = sent([{ data: { skill: 'register', input: {} } }]);
    expect(permissionToSend({}, request)).toBe('agents:register');
    expect(permissionToSend({ tenant: '' }, request)).toBe('agents:register');
    expect(permissionToSend({ agentId: 'a' }, request)).toBe('runs:start');
    expect(permissionToSend({ tenant: 'a' }, request)).toBe('runs:start');
  });
});
