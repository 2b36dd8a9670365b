import { Injectable } from '@nestjs/common';
import { ClockStore } from './clock.store.js';
import { LeaseStore } from './lease.store.js';
import { ProtectionStore } from './protection.store.js';

/** The stores that a sweep reads and writes. */
@Injectable()
export class SweepStores {
  constructor(
    readonly leases: LeaseStore,
    readonly protection: ProtectionStore,
    readonly clock: ClockStore,
  ) {}
}
