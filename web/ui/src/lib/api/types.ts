import type { components } from './schema'

type Schemas = components['schemas']

export type Booking = Schemas['Booking']
export type BookingState = Booking['state']
export type Category = Schemas['Category']
export type Layout = Schemas['Layout']
export type LayoutSeat = Schemas['LayoutSeat']
export type Money = Schemas['Money']
export type Problem = Schemas['Problem']
export type SeatStatus = Schemas['SeatProblem']['status']
export type Showing = Schemas['Showing']
