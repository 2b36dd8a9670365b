import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;
type IPv6 = ReturnType<typeof ipaddr.IPv6.parse>;
type Network = [Address, number];

/**
 * Cloud metadata services return credentials, so an allowlist never permits them, even if one of its ranges contains
 * them.
 */
const METADATA = new Set(
  ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254'].map((text) =>
    ipaddr.parse(text).toNormalizedString(),
  ),
);

/** The IPv6 addresses of the public Internet. All other ranges have a special meaning. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3');

export interface AddressRules {
  /** Networks that the operator allows, as CIDR ranges or single addresses, for example for internal agents. */
  allow?: readonly string[];
  /** Networks that are denied even if `allow` contains them. */
  deny?: readonly string[];
  /** Allows this machine, for development and for models that run on it. */
  allowLoopback?: boolean;
}

/**
 * `allowlisted`: the operator allows the address. `public`: a public Internet address. Otherwise the reason for the
 * denial.
 */
type AddressVerdict = 'allowlisted' | 'public' | { denied: string };

/**
 * Decides which addresses may be connected to. By default only the public Internet is allowed: every special range
 * (loopback, private, link-local, unique-local, carrier-grade NAT, multicast, reserved, tunnels) is denied. An IPv4
 * address in IPv6 notation is treated as IPv4.
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

  evaluate(text: string): AddressVerdict {
    if (!ipaddr.isValid(text)) return { denied: 'it is not an IP address' };
    const address = ipaddr.process(text);
    const range = address.range();
    const candidates = [address, ...embeddedIpv4(address)];
    if (candidates.some((one) => METADATA.has(one.toNormalizedString())))
      return { denied: 'it is a cloud metadata service' };
    if (this.deny.some((network) => candidates.some((one) => contains(network, one))))
      return { denied: 'the operator denies its network' };
    if (this.allow.some((network) => contains(network, address))) return 'allowlisted';
    if (range === 'loopback' && this.allowLoopback) return 'allowlisted';
    if (range !== 'unicast') return { denied: `its range is ${range}` };
    if (address.kind() === 'ipv6' && !contains(GLOBAL_V6, address)) return { denied: 'its range is not global' };
    return 'public';
  }
}

/**
 * Returns the IPv4 address that a tunnel or NAT64 derives from an IPv6 address, so that such an IPv6 address cannot be used to bypass
 * a denial.
 */
function embeddedIpv4(address: Address): Address[] {
  if (address.kind() === 'ipv4') return [];
  const bytes = address.toByteArray();
  const embedding = IPV4_EMBEDDINGS.find(([network]) => contains(network, address));
  return embedding ? [ipaddr.fromByteArray(bytes.slice(embedding[1], embedding[1] + 4))] : [];
}

/**
 * IPv6 networks whose addresses contain an IPv4 address, with the offset of its bytes: NAT64, translated and compatible
 * forms, 6to4.
 */
const IPV4_EMBEDDINGS = (
  [
    ['64:ff9b::/96', 12],
    ['64:ff9b:1::/48', 12],
    ['::ffff:0:0:0/96', 12],
    ['::/96', 12],
    ['2002::/16', 2],
  ] as const
).map(([text, at]) => [ipaddr.parseCIDR(text), at] as const);

const MAPPED_BITS = 96;

/** A range of IPv4 addresses in IPv6 notation is treated as IPv4. */
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
