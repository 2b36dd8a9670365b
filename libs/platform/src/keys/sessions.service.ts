import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { hashOf } from './key.js';
import { type SessionGrant, type SessionRow, SessionStore } from './session.store.js';

/** All tokens of sessions begin with this, so that they are distinguished from API keys. */
export const SESSION_PREFIX = 'rs_';
const SESSION_MS = 8 * 3_600_000;
const TICKET_MS = 60_000;

export interface NewSession {
  /** The secret. It is not stored, so it is returned only once. */
  token: string;
  /** The hexadecimal SHA-256 of the token. */
  hash: string;
  roles: readonly string[];
  expiresAt: Date;
}

export interface NewSessionTicket {
  ticket: string;
  expiresAt: Date;
}

/**
 * Sessions of people. A session acts for the principal of its API key, with the same or fewer roles. It ends after eight hours, with its
 * key, or when it is deleted; this holds on every replica, because each of them looks up sessions in the database.
 */
@Injectable()
export class SessionsService {
  private readonly listeners: (() => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: SessionStore,
  ) {}

  /** Calls the listener after this replica has ended a session. */
  onEnd(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Returns undefined if the key is no longer valid. */
  async open(grant: SessionGrant): Promise<NewSession | undefined> {
    const token = SESSION_PREFIX + randomBytes(32).toString('base64url');
    const hash = hashOf(token);
    const expiresAt = await this.store.insert(hash, grant, SESSION_MS);
    return expiresAt && { token, hash: hash.toString('hex'), roles: grant.roles, expiresAt };
  }

  /** Returns the valid session with this hash. */
  async findValid(hash: Buffer): Promise<SessionRow | undefined> {
    return await this.store.findValid(hash);
  }

  /** Returns which of these sessions are valid. */
  async findValidHashes(hashes: readonly string[]): Promise<string[]> {
    return await this.store.findValidHashes(hashes);
  }

  async end(hash: string): Promise<void> {
    await this.store.delete(hash);
    this.db.afterCommit(() => this.listeners.forEach((listener) => listener()));
  }

  async issueTicket(grant: SessionGrant): Promise<NewSessionTicket> {
    const ticket = randomBytes(32).toString('base64url');
    return { ticket, expiresAt: await this.store.insertTicket(hashOf(ticket), grant, TICKET_MS) };
  }

  /** Returns undefined if the ticket was used, has expired, or its key is no longer valid. */
  async exchange(ticket: string): Promise<NewSession | undefined> {
    const grant = await this.store.consumeTicket(hashOf(ticket));
    return grant && (await this.open(grant));
  }
}
