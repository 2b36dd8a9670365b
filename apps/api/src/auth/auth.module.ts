import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CONFIG } from '../config/config.token.js';
import type { Config } from '../config/config.schema.js';
import { KeysModule } from '../keys/keys.module.js';
import { AuthGuard } from './auth.guard.js';
import { Authenticator } from './authenticator.js';
import { CredentialWatch } from './credential.watch.js';
import { MeController } from './me.controller.js';
import { OidcVerifier } from './oidc.verifier.js';
import { RateLimiter } from './rate.limiter.js';
import { SocketDoors } from './socket.doors.js';

@Module({
  imports: [KeysModule],
  controllers: [MeController],
  providers: [
    Authenticator,
    { provide: OidcVerifier, inject: [CONFIG], useFactory: ({ auth }: Config) => new OidcVerifier(auth) },
    { provide: RateLimiter, inject: [CONFIG], useFactory: ({ http }: Config) => new RateLimiter(http.rateLimit) },
    AuthGuard,
    { provide: APP_GUARD, useExisting: AuthGuard },
    CredentialWatch,
    SocketDoors,
  ],
  exports: [AuthGuard, Authenticator, CredentialWatch, SocketDoors],
})
export class AuthModule {}
