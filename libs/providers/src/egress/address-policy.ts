import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

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
    if (METADATA.has(address.toNormalizedString())) return { denied: 'it is a cloud metadata service' };
    if (this.deny.some((network) => contains(network, address))) return { denied: 'the operator closed its network' };
    if (this.allow.some((network) => contains(network, address))) return 'named';
    if (range === 'loopback' && this.allowLoopback) return 'named';
    if (range !== 'unicast') return { denied: `its range is ${range}` };
    if (address.kind() === 'ipv6' && !contains(GLOBAL_V6, address)) return { denied: 'its range is not global' };
    return 'public';
  }
}

function parseNetwork(text: string): Network {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
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
