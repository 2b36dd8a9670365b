import { Injectable, type PipeTransform } from '@nestjs/common';
import { validationFailed } from '../http/validation/validation.errors.js';

/** The position of an event in the log, as a path parameter. */
@Injectable()
export class SequencePipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (/^\d+$/.test(value)) return Number(value);
    throw validationFailed([{ field: 'sequence', message: 'sequence must be a whole number such as 1042' }]);
  }
}
