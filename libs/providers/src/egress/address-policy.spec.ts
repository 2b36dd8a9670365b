import * as fc from 'fast-check';
import { AddressPolicy } from './address-policy.js';

const DENIED = [
  ['127.0.0.1', 'loopback'],
  ['::1', 'loopback'],
  ['0.0.0.0', 'unspecified'],
  ['::', 'unspecified'],
  ['10.1.2.3', 'private'],
  ['172.16.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['169.254.1.1', 'linkLocal'],
  ['fe80::1', 'linkLocal'],
  ['fc00::1', 'uniqueLocal'],
  ['100.64.0.1', 'carrierGradeNat'],
  ['224.0.0.1', 'multicast'],
  ['ff02::1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['240.0.0.1', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['192.0.2.1', 'reserved'],
  ['2001:db8::1', 'reserved'],
  ['64:ff9b::7f00:1', 'rfc6052'],
  ['2002:7f00:1::', '6to4'],
  ['::7f00:1', 'not global'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:a00:1', 'private'],
  ['169.254.169.254', 'metadata'],
  ['::ffff:169.254.169.254', 'metadata'],
  ['168.63.129.16', 'metadata'],
  ['fd00:ec2::254', 'metadata'],
] as const;

const octet = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));

describe('S1.7 the address policy', () => {
  it.each(DENIED)('denies %s: %s', (address, reason) => {
    expect(new AddressPolicy().evaluate(address)).toEqual({ denied: expect.stringContaining(reason) });
  });

  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111'])('allows the public address %s', (address) => {
    expect(new AddressPolicy().evaluate(address)).toBe('public');
  });

  it('allows loopback addresses, and no other special address, with allowLoopback', () => {
    const policy = new AddressPolicy({ allowLoopback: true });
    expect([policy.evaluate('127.0.0.1'), policy.evaluate('::1'), policy.evaluate('::ffff:7f00:1')]).toEqual(
      Array(3).fill('allowlisted'),
    );
    expect(policy.evaluate('10.0.0.1')).toHaveProperty('denied');
  });

  it('allows the networks of the operator, except denied networks and metadata services', () => {
    const policy = new AddressPolicy({ allow: ['10.0.0.0/8', '0.0.0.0/0', 'fd00::/8'], deny: ['10.9.0.0/16'] });
    expect([policy.evaluate('10.0.0.1'), policy.evaluate('fd00::1')]).toEqual(['allowlisted', 'allowlisted']);
    for (const address of ['10.9.1.1', '169.254.169.254', '100.100.100.200', 'fd00:ec2::254'])
      expect(policy.evaluate(address)).toHaveProperty('denied');
  });

  it.each(['64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe', '::ffff:0:a9fe:a9fe', '::a9fe:a9fe', '2002:a9fe:a9fe::1'])(
    'S1.7 denies a metadata service behind %s, even if the operator allows all addresses',
    (address) => {
      expect(new AddressPolicy({ allow: ['::/0', '0.0.0.0/0'] }).evaluate(address)).toHaveProperty('denied');
      expect(new AddressPolicy({ allow: ['::/0'] }).evaluate('64:ff9b::808:808')).toBe('allowlisted');
    },
  );

  it('S1.7 denies the denied networks even behind an address translator', () => {
    const policy = new AddressPolicy({ allow: ['::/0', '10.0.0.0/8'], deny: ['10.9.0.0/16'] });
    expect(policy.evaluate('64:ff9b::a09:101')).toHaveProperty('denied');
    expect(policy.evaluate('64:ff9b::a08:101')).toBe('allowlisted');
  });

  it('S1.7 accepts an IPv4 network in IPv6 notation', () => {
    const policy = new AddressPolicy({ allow: ['10.0.0.0/8'], deny: ['::ffff:10.9.0.0/112'] });
    for (const address of ['10.9.1.1', '::ffff:10.9.1.1'])
      expect(policy.evaluate(address)).toEqual({ denied: expect.stringContaining('operator') });
    expect(policy.evaluate('10.8.1.1')).toBe('allowlisted');
  });

  it('accepts single addresses, and the error for an invalid network shows the format', () => {
    expect(new AddressPolicy({ allow: ['10.1.2.3'] }).evaluate('10.1.2.4')).toHaveProperty('denied');
    expect(() => new AddressPolicy({ allow: ['intranet'] })).toThrow(/such as 10\.0\.0\.0\/8/);
  });

  it('evaluates an IPv4 address in IPv6 notation like the IPv4 address', () => {
    const policy = new AddressPolicy({ allow: ['10.0.0.0/8'] });
    fc.assert(
      fc.property(ipv4, (address) => expect(policy.evaluate(`::ffff:${address}`)).toEqual(policy.evaluate(address))),
    );
  });

  it('denies special addresses that the operator does not list', () => {
    const policy = new AddressPolicy({ allowLoopback: true });
    const special = fc
      .constantFrom('10', '192.168', '169.254', '172.16')
      .chain((prefix) =>
        fc.tuple(octet, octet, octet).map((rest) => [...prefix.split('.'), ...rest].slice(0, 4).join('.')),
      );
    fc.assert(fc.property(special, (address) => expect(policy.evaluate(address)).toHaveProperty('denied')));
  });

  it('denies text that is not an address', () => {
    fc.assert(
      fc.property(fc.string(), (text) =>
        expect(['allowlisted', 'public']).not.toContain(new AddressPolicy().evaluate(`x${text}`)),
      ),
    );
  });
});
