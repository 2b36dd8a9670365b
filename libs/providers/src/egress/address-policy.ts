import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;
type IPv6 = ReturnType<typeof ipaddr.IPv6.parse>;
type Network = [Address, number];

/** Cloud metadata services: they hand out credentials, so no allowlist opens them, not even by a wide range. */
const METADATA = new Set(
  ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254'].map((text) =>
    ipaddr.parse(text).toNormalizedString(),
  ),
);

/** All that is routed on the Internet in version 6; whatever is outside has a meaning of its own. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3');

export interface AddressRules {
  /** Networks the operator trusts, as CIDR ranges or single addresses: internal agents are legitimate. */
  allow?: readonly string[];
  /** Networks closed in addition, even where `allow` covers them. */
  deny?: readonly string[];
  /** This machine. For development, and for models that run beside us. */
  allowLoopback?: boolean;
}

/** `named`: the operator said so. `public`: an ordinary address of the Internet. Otherwise why it is closed. */
export type AddressVerdict = 'named' | 'public' | { denied: string };

/**
 * Which addresses may be connected to. Without rules that is the public Internet and nothing else: every special range
 * (loopback, private, link-local, unique-local, carrier NAT, multicast, reserved, tunnels) is closed, and an IPv4 address
 * written as IPv6 is judged as IPv4.
 */
export class AddressPolicy {
  private readonly allow: Network[];
  private readonly deny: Network[];
  private readonly allowLoopback: boolean;

  constructor(rules: AddressRules = {}) {
    this.allow = (rules.allow ?? []).map(parseNetwork);
    this.deny = (rules.deny ?? []).map(parseNetwork);
    this.allowLoopback = rules.allowLoopback ?? false;
  }

  judge(text: string): AddressVerdict {
    if (!ipaddr.isValid(text)) return { denied: 'it is not an IP address' };
    const address = ipaddr.process(text);
    const range = address.range();
    const reached = [address, ...carriedBy(address)];
    if (reached.some((one) => METADATA.has(one.toNormalizedString())))
      return { denied: 'it is a cloud metadata service' };
    if (this.deny.some((network) => reached.some((one) => contains(network, one))))
      return { denied: 'the operator closed its network' };
    if (this.allow.some((network) => contains(network, address))) return 'named';
    if (range === 'loopback' && this.allowLoopback) return 'named';
    if (range !== 'unicast') return { denied: `its range is ${range}` };
    if (address.kind() === 'ipv6' && !contains(GLOBAL_V6, address)) return { denied: 'its range is not global' };
    return 'public';
  }
}

/** The IPv4 address that a tunnel or a translator would make of an IPv6 address: none of them is a way around a ban. */
function carriedBy(address: Address): Address[] {
  if (address.kind() === 'ipv4') return [];
  const bytes = address.toByteArray();
  const found = CARRIERS.find(([network]) => contains(network, address));
  return found ? [ipaddr.fromByteArray(bytes.slice(found[1], found[1] + 4))] : [];
}

/** Networks that carry IPv4 addresses, and at which byte: NAT64, its translated and compatible forms, 6to4. */
const CARRIERS = (
  [
    ['64:ff9b::/96', 12],
    ['64:ff9b:1::/48', 12],
    ['::ffff:0:0:0/96', 12],
    ['::/96', 12],
    ['2002::/16', 2],
  ] as const
).map(([text, at]) => [ipaddr.parseCIDR(text), at] as const);

const MAPPED_BITS = 96;

/** A range of IPv4 addresses written as IPv6 means the IPv4 addresses, as an address does. */
function parseRange(text: string): Network {
  const [address, bits] = ipaddr.parseCIDR(text);
  if (address.kind() === 'ipv4' || !(address as IPv6).isIPv4MappedAddress() || bits < MAPPED_BITS)
    return [address, bits];
  return [(address as IPv6).toIPv4Address(), bits - MAPPED_BITS];
}

function parseNetwork(text: string): Network {
  try {
    if (text.includes('/')) return parseRange(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (error) {
    throw new Error(`${text} is not a network. Write an address such as 10.1.2.3 or a range such as 10.0.0.0/8.`, {
      cause: error,
    });
  }
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match([network, bits] as never);
}
