import * as fc from 'fast-check';
import { CatalogNames, isIdentifier, type NamedAgent, publisherAt, publisherOf } from './catalog.names.js';

/** The pattern in the conformance tool of ARD, and the pattern in the schema of server.json. */
const ARD = /^urn:air:([a-zA-Z0-9.-]+)(?::([a-zA-Z0-9._:-]+))?:([a-zA-Z0-9._-]+)$/;
const SERVER = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

const names = new CatalogNames('example.com');
const agents = fc.record<NamedAgent>({
  namespace: fc.constantFrom('default', 'agent', 'team-a', 'a'),
  agentId: fc.stringMatching(/^[A-Za-z0-9][\w.:-]{0,12}$/),
});

describe('the names of catalog entries', () => {
  it.each<[agent: NamedAgent, identifier: string, server: string]>([
    [{ namespace: 'default', agentId: 'builder' }, 'urn:air:example.com:agent:builder', 'com.example.agents/builder'],
    [
      { namespace: 'team-a', agentId: 'Builder_1.2' },
      'urn:air:example.com:agent.team-a:Builder_1.2',
      'com.example.agents.team-a/Builder_1.2',
    ],
    [
      { namespace: 'default', agentId: 'team:b' },
      'urn:air:example.com:agent:team-b:2c6d217cceeab8e6',
      'com.example.agent-ids/team-b.2c6d217cceeab8e6',
    ],
  ])('%j has the identifier %s and the server name %s', (agent, identifier, server) => {
    expect(names.agentIdentifier(agent)).toBe(identifier);
    expect(names.agentServerName(agent)).toBe(server);
  });

  it('every agentId has a valid name, and two agents never have the same name', () => {
    fc.assert(
      fc.property(agents, agents, (one, other) => {
        const same = one.namespace === other.namespace && one.agentId === other.agentId;
        expect(names.agentIdentifier(one)).toMatch(ARD);
        expect(isIdentifier(names.agentIdentifier(one))).toBe(true);
        expect(names.agentServerName(one)).toMatch(SERVER);
        expect(names.agentIdentifier(one) === names.agentIdentifier(other)).toBe(same);
        expect(names.agentServerName(one) === names.agentServerName(other)).toBe(same);
      }),
    );
  });

  it.each([
    ['urn:air:example.com:agent:a', true],
    ['urn:air:example.com:a', true],
    ['urn:air:ard-conformance.invalid:probe:not-found', true],
    ['not-a-valid-ard-urn', false],
    ['urn:air:example.com', false],
    ['urn:air:example.com:', false],
    ['urn:air:example.com:a:', false],
    ['urn:air:example.com:a/b', false],
    ['urn:air:example.com:a\u0000', false],
    ['urn:air:exa mple.com:a', false],
    ['URN:AIR:example.com:a', false],
    [`urn:air:example.com:${'a'.repeat(300)}`, false],
  ])('isIdentifier(%j) is %s', (text, expected) => {
    expect(isIdentifier(text)).toBe(expected);
  });

  it('the publisher is the host of the public URL', () => {
    expect(publisherAt('https://fleet.example.com:8443/base')).toBe('fleet.example.com');
    expect(publisherAt('http://[::1]:8080')).toBe('localhost');
    expect(publisherOf('urn:air:example.com:agent:a')).toBe('example.com');
  });
});
