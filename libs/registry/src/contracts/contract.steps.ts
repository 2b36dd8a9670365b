import { Injectable } from '@nestjs/common';
import { ContractAwards } from './contract.awards.js';
import { ContractCloser } from './contract.closer.js';
import { ContractReservations } from './contract.reservations.js';

/** The parts that change a contract after its announcement. */
@Injectable()
export class ContractSteps {
  constructor(
    readonly awards: ContractAwards,
    readonly closer: ContractCloser,
    readonly reservations: ContractReservations,
  ) {}
}
