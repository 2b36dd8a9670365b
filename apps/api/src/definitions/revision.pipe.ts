import { Injectable, type PipeTransform } from '@nestjs/common';
import { validationFailed } from '../http/validation/validation.errors.js';

/** The number of a revision, as a path parameter. */
@Injectable()
export class RevisionPipe implements PipeTransform<string, number> {
  transform(value: string): number {
    if (/^\d{1,9}$/.test(value)) return Number(value);
    throw validationFailed([{ field: 'revision', message: 'revision must be a whole number such as 3' }]);
  }
}
