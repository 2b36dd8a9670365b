import * as fc from 'fast-check';
import { DEFAULT_NAMESPACE, localIdOf, NAMESPACE_PATTERN, namespaceOf, qualifiedId } from './namespace.js';

const namespaces = fc.stringMatching(NAMESPACE_PATTERN);
const localIds = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('a', 'a/b', 'default/a', '/', 'team-a/a'));

describe('a qualified id', () => {
  it('is the local id in the default namespace, and has the namespace as its prefix elsewhere', () => {
    expect(qualifiedId(DEFAULT_NAMESPACE, 'builder')).toBe('builder');
    expect(qualifiedId('team-a', 'builder')).toBe('team-a/builder');
  });

  it('never reaches another namespace through a local id with a slash', () => {
    expect(qualifiedId(DEFAULT_NAMESPACE, 'team-a/builder')).not.toBe(qualifiedId('team-a', 'builder'));
  });

  it('can be split into the namespace and the local id that it was made of', () => {
    fc.assert(
      fc.property(namespaces, localIds, (namespace, localId) => {
        const qualified = qualifiedId(namespace, localId);
        expect([namespaceOf(qualified), localIdOf(qualified)]).toEqual([namespace, localId]);
      }),
    );
  });
});
