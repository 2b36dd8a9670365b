import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { RegistrationView } from './agent.view.js';
import { ProblemView } from '../http/problems/problem.docs.js';

/** The result of one registration of a batch. */
export class RegistrationResultView {
  @ApiProperty({
    type: 'integer',
    example: 201,
    description: 'The HTTP status of `POST /v1/agents` for the same registration.',
  })
  status: number;
  @ApiPropertyOptional({ type: RegistrationView, description: 'Status 201: the registration.' })
  registration?: RegistrationView;
  @ApiPropertyOptional({ type: ProblemView, description: 'Any other status: the problem.' })
  problem?: ProblemView;
}

export class RegistrationResultsView {
  @ApiProperty({ type: [RegistrationResultView], description: 'One result for each registration, in the same order.' })
  results: RegistrationResultView[];
}
