import { Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { Database } from '../postgres/database.js';
import { ALL_NAMESPACES, DEFAULT_NAMESPACE, type LimitedKind, NamespaceNotFoundError } from './namespace.js';
import { NamespaceStore } from './namespace.store.js';

const PERMANENT: ReadonlySet<string> = new Set([DEFAULT_NAMESPACE, ALL_NAMESPACES]);

export class NamespaceFullError extends PlatformError {
  readonly code = 'NAMESPACE_FULL';
  override readonly details: Record<string, unknown>;

  /** `kind` is a plural noun, such as `webhooks`. */
  constructor(kind: string, limit: number) {
    super(
      `This namespace may have at most ${limit} ${kind}. Remove some of them, or ask an administrator of all namespaces to raise the limit.`,
    );
    this.details = { kind, limit };
  }
}

/** Decides whether a namespace accepts another object. */
@Injectable()
export class NamespaceAdmission {
  constructor(
    private readonly db: Database,
    private readonly store: NamespaceStore,
  ) {}

  /**
   * Throws unless the namespace exists and has room for one more object. Must be called in the transaction that adds the object:
   * until that transaction ends, the namespace cannot be deleted, and if the namespace has a limit for this kind, no other
   * transaction adds an object of this kind.
   */
  async admit(namespace: string, kind: LimitedKind, count: () => Promise<number>): Promise<void> {
    if (namespace === ALL_NAMESPACES) return;
    const [row] = await this.store.hold([namespace]);
    if (!row) throw new NamespaceNotFoundError(namespace);
    const limit = row.limits[kind] ?? 0;
    if (limit === 0) return;
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.${kind}:${namespace}`]);
    if ((await count()) >= limit) throw new NamespaceFullError(kind, limit);
  }

  /**
   * Returns the given namespaces that exist, and always the default namespace and `*`. The returned namespaces cannot be deleted
   * until the transaction ends. The default namespace is permanent, so it is not locked: the hot paths of an installation without
   * other namespaces send no statement.
   */
  async hold(names: readonly string[]): Promise<ReadonlySet<string>> {
    const deletable = names.filter((name) => !PERMANENT.has(name));
    const held = deletable.length === 0 ? [] : await this.store.hold(deletable);
    return new Set([...PERMANENT, ...held.map(({ name }) => name)]);
  }
}
