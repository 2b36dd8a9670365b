import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CONFIG } from '../config/config.token.js';
import type { Config } from '../config/config.schema.js';
import { KeysModule } from '../keys/keys.module.js';
import { AuthGuard } from './auth.guard.js';
import { Authenticator } from './authenticator.js';
import { MeController } from './me.controller.js';
import { OidcVerifier } from './oidc.verifier.js';
import { RateLimiter } from './rate.limiter.js';

@Module({
  imports: [KeysModule],
  controllers: [MeController],
  providers: [
    Authenticator,
    { provide: OidcVerifier, inject: [CONFIG], useFactory: ({ auth }: Config) => new OidcVerifier(auth) },
    { provide: RateLimiter, inject: [CONFIG], useFactory: ({ http }: Config) => new RateLimiter(http.rateLimit) },
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
})
export class AuthModule {}
