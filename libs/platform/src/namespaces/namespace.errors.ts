import { PlatformError } from '../errors.js';

/** Also thrown for a namespace that exists but that the caller may not use, with the same text. */
export class NamespaceNotFoundError extends PlatformError {
  readonly code = 'NAMESPACE_NOT_FOUND';

  constructor(name: string) {
    super(`No namespace that you may use has the name "${name}". GET /v1/me lists the namespaces of your credential.`);
  }
}

export class NamespaceExistsError extends PlatformError {
  readonly code = 'NAMESPACE_EXISTS';

  constructor(name: string, wasDeleted: boolean) {
    const reason = wasDeleted
      ? 'existed and was deleted; its name cannot be used again, because its history remains'
      : 'exists';
    super(`The namespace "${name}" ${reason}. Choose another name.`);
  }
}

export class NamespaceNotEmptyError extends PlatformError {
  readonly code = 'NAMESPACE_NOT_EMPTY';
  override readonly details: Record<string, unknown>;

  constructor(name: string, use: Readonly<Record<string, number>>) {
    const contents = Object.entries(use).filter(([, count]) => count > 0);
    const text = contents.map(([kind, count]) => `${kind} (${count})`).join(', ');
    super(`The namespace "${name}" is not empty: it contains ${text}. Remove them, or wait until they have ended.`);
    this.details = { contains: Object.fromEntries(contents) };
  }
}

export class NamespacePermanentError extends PlatformError {
  readonly code = 'NAMESPACE_PERMANENT';

  constructor(name: string) {
    super(`The namespace "${name}" exists in every installation and cannot be deleted.`);
  }
}

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
